/**
 * A handler that stands at several path patterns is several routes: a payment whose request was refused at one is offered
 * no use at another.
 */
import { assert, describe, it } from "@effect/vitest"
import { Controller, Get } from "@nestjs/common"
import { PaymentRequired } from "@pontage/core"
import * as Schema from "effect/Schema"

import { Paid } from "../src/payment.decorator.ts"
import { hosts, start } from "./TestApp.ts"
import { terms } from "./TestShop.ts"

@Controller()
class AtlasController {
  @Get(["city/:name", "country/:name"])
  @Paid(terms)
  place() {
    return {}
  }
}

const decodeOffers = Schema.decodeUnknownSync(PaymentRequired.PaymentRequired)

describe.each(hosts)("the offers of a handler at several patterns on $name", (host) => {
  it("name a route of its own for each", async () => {
    await using app = await start(host, { controllers: [AtlasController] })
    const tokenAt = async (path: string) => {
      const { accepts } = decodeOffers(await (await fetch(`http://127.0.0.1:${app.port}${path}`)).json())
      return accepts[0]?.extra?.["routeToken"]
    }
    const token = await tokenAt("/city/riga")
    assert.isString(token)
    assert.strictEqual(await tokenAt("/city/bern?language=de"), token)
    assert.notStrictEqual(await tokenAt("/country/latvia"), token)
  })
})
