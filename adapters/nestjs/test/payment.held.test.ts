/**
 * A response that is settled after its handler leaves in no other way than through the settlement.
 */
import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Controller, Get, Res } from "@nestjs/common"

import { Paid } from "../src/payment.decorator.ts"
import { type HostResponse, nodeResponse } from "../src/payment.http.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

@Controller()
@Paid({ ...terms, settle: "after-handler" })
class SelfishController {
  @Get("end")
  end(@Res({ passthrough: true }) response: HostResponse) {
    nodeResponse(response).end("the goods")
  }

  @Get("head")
  head(@Res({ passthrough: true }) response: HostResponse) {
    nodeResponse(response).writeHead(200, { "X-Own": "1" }).end("the goods")
    return "the goods"
  }
}

const ask = (port: number, path: string): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)))
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("utf8")))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Payment: ${payment("n1")}\r\n\r\n`)
  })

describe.each(hosts)("a handler on $name that sends by itself", (host) => {
  it.each(["/end", "/head"])("at %s lets nothing leave, and nothing is charged", async (path) => {
    await using app = await start(host, { controllers: [SelfishController] })
    assert.notInclude(await ask(app.port, path), "goods")
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })
})
