/**
 * The discovery documents and the offers of the demonstration's shops, judged by the validators of those who read them:
 * @agentcash/discovery and mppx. No errors; the warnings are listed here.
 */
import {
  checkL2ForOpenAPI,
  getOpenAPI,
  getWarningsForL2,
  getWarningsForOpenAPI,
  validatePaymentRequiredDetailed
} from "@agentcash/discovery"
import { assert, layer } from "@effect/vitest"
import * as Demo from "@pontage/demo/Demo"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { validate } from "mppx/discovery"

const freePorts = { evm: 0, ton: 0, tron: 0, facilitator: 0, koa: 0, nest: 0, stream: 0 }

/** The demonstration, whose shops are open and have sold. */
const opened = Demo.run(freePorts, { heading: () => Effect.void, row: () => Effect.void, bought: () => Effect.void })

class Shops extends Context.Service<Shops, Effect.Success<typeof opened>>()("Shops") {}

const requiredAt = async (url: string): Promise<Record<string, unknown>> => {
  const { headers } = await fetch(url)
  return JSON.parse(Buffer.from(headers.get("payment-required") ?? "", "base64").toString("utf8"))
}

const codesOf = (issues: ReadonlyArray<{ readonly code: string; readonly severity: string }>) =>
  issues.map(({ code, severity }) => `${severity} ${code}`)

layer(Layer.effect(Shops, opened), { excludeTestServices: true, timeout: "15 minutes" })("the validators", (it) => {
  const documents = [
    ["koa", ["GET /render/{pages} dynamic", "GET /report fixed"], ["warn L2_DYNAMIC_PRICE_INCOMPLETE"]],
    ["nest", ["GET /report fixed"], ["info OPENAPI_CONTACT_MISSING"]]
  ] as const
  it.effect.each(documents)("of OpenAPI documents accept the one of %s", ([name, routes, warnings]) =>
    Effect.gen(function* () {
      const { [name]: shop } = yield* Shops
      yield* Effect.promise(async () => {
        const document: unknown = await (await fetch(`${shop}/openapi.json`)).json()
        assert.deepStrictEqual(validate(document), [])
        const read = await getOpenAPI(shop)
        assert(read.isOk() && read.value !== null && !("parseFailure" in read.value))
        const listing = checkL2ForOpenAPI(read.value)
        assert.deepStrictEqual(
          listing.routes.map(({ method, path, pricingMode }) => `${method} ${path} ${pricingMode}`).toSorted(),
          [...routes]
        )
        const issues = [...getWarningsForOpenAPI(read.value), ...getWarningsForL2(listing)]
        assert.deepStrictEqual(codesOf(issues), [...warnings])
      })
    })
  )

  const offers = [
    ["koa", "/report"],
    ["koa", "/render/3"],
    ["nest", "/report"]
  ] as const
  it.effect.each(offers)("of offers accept that of %s at %s, whose extension fits its own schema", ([name, path]) =>
    Effect.gen(function* () {
      const { [name]: shop } = yield* Shops
      yield* Effect.promise(async () => {
        const required = await requiredAt(`${shop}${path}`)
        const { issues, valid } = validatePaymentRequiredDetailed(required)
        assert.deepStrictEqual(codesOf(issues), [])
        assert.isTrue(valid)
        const { info, schema } = (required["extensions"] as { bazaar: { info: object; schema: object } }).bazaar
        const ajv = new Ajv2020({ strict: false })
        assert.isTrue(ajv.validate(schema, info), JSON.stringify(ajv.errors))
        assert.isFalse(ajv.validate(schema, { ...info, input: { type: "http" } }))
      })
    })
  )
})
