/** The package needs nothing of Node: its bundle sells in a place that has the web platform and nothing else. */
import { runInNewContext } from "node:vm"

import { build } from "esbuild"
import { assert, describe, it } from "vitest"

const bundle = (contents: string) =>
  build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "iife",
    globalName: "bundled",
    platform: "browser",
    metafile: true,
    conditions: ["@pontage/source", "workerd", "worker"],
    logLevel: "silent"
  })

const shop = `
  import { paymentHandler } from "../src/index.ts"
  import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
  import { payment } from "../../../core/test/server/GateTestRequest.ts"
  import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"

  export const sell = async () => {
    const shop = paymentHandler(
      {
        origin: "https://shop.example",
        facilitator: FakeFacilitator.make().layer,
        schemes: [FakeScheme.evm()],
        secret: "s".repeat(32),
        routes: { "GET /report": { network: "eip155:8453", price: "$0.01", payTo: FakeScheme.alice } }
      },
      () => new Response("the goods")
    )
    await shop.ready()
    const unpaid = await shop(new Request("https://shop.example/report"))
    const paid = await shop(new Request("https://shop.example/report", { headers: payment(undefined) }))
    const free = await shop(new Request("https://shop.example/free"))
    return [unpaid.status, paid.status, await paid.text(), free.status].join(" ")
  }
`

/** The web platform's globals; the language's own come with the context. */
const platform = () => {
  const { crypto, fetch, Headers, Request, Response, ReadableStream, URL, URLSearchParams } = globalThis
  const { AbortController, AbortSignal, TextDecoder, TextEncoder, clearTimeout, queueMicrotask, setTimeout } =
    globalThis
  const { atob, btoa, clearInterval, console, performance, setInterval, structuredClone } = globalThis
  const requests = { crypto, fetch, Headers, Request, Response, ReadableStream, URL, URLSearchParams }
  const others = { AbortController, AbortSignal, TextDecoder, TextEncoder, clearTimeout, queueMicrotask, setTimeout }
  return { ...requests, ...others, atob, btoa, clearInterval, console, performance, setInterval, structuredClone }
}

describe("the package in a bundle for the web platform", () => {
  it("imports no module of Node, and sells where nothing of Node is there", async () => {
    const { metafile, outputFiles } = await bundle(shop)
    const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external))
    assert.deepStrictEqual(imported, [])
    const code = outputFiles.map(({ text }) => text).join("\n")
    const sold: unknown = await runInNewContext(`${code}; bundled.sell()`, platform())
    assert.strictEqual(sold, "402 200 the goods 200")
  })

  it("would name a module of Node that comes in", async () => {
    const mistake = await bundle(`import "node:net"\n${shop}`).then(
      () => "none",
      (error: unknown) => JSON.stringify(error)
    )
    assert.include(mistake, "node:net")
  })
})
