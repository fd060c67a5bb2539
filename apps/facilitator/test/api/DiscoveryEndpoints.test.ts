import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Schema from "effect/Schema"

import { FacilitatorHttpApi } from "../../src/api/FacilitatorHttpApi.ts"
import * as ResourceList from "../../src/discovery/ResourceList.ts"
import * as OfferingShop from "../discovery/OfferingShop.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, request, settled, start } = TestFacilitator

const decode = Schema.decodeUnknownEffect(ResourceList.Page)

/** A service that lists a shop's resources, and settles every payment. */
const open = Effect.gen(function* () {
  const shop = yield* OfferingShop.open
  let count = 0
  const settle = () => Effect.sync(() => ({ ...settled, paymentId: `pay_${String(++count).padStart(22, "0")}` }))
  const service = yield* start({ settle }, { discovery: { origins: [shop.origin], allowPrivate: true } })
  const sell = (path: string) => {
    shop.responses.set(path, { required: OfferingShop.required() })
    const paymentRequirements = { ...request.paymentRequirements, resource: shop.origin + path }
    return service.post("/settle", { ...body, paymentRequirements, claim })
  }
  const page = (query: string) =>
    Effect.flatMap(Effect.flatMap(service.get(`/discovery/resources${query}`), json), (value) => decode(value))
  const listed = (total: number) => Effect.repeat(page(""), { until: ({ pagination }) => pagination.total === total })
  return { ...service, listed, page, sell, shop }
})

describe("GET /discovery/resources", () => {
  it.live("is unknown where no origin is listed, and nothing is requested", () =>
    Effect.gen(function* () {
      const shop = yield* OfferingShop.open
      const { get, post } = yield* start({ settle: () => Effect.succeed(settled) })
      const paymentRequirements = { ...request.paymentRequirements, resource: `${shop.origin}/report` }
      yield* post("/settle", { ...body, paymentRequirements, claim })
      const response = yield* get("/discovery/resources")
      assert.strictEqual(response.status, 404)
      assert.propertyVal(yield* json(response), "error", "unknown_endpoint")
      assert.deepStrictEqual(yield* json(yield* get("/supported")), { kinds: [], extensions: [], signers: {} })
      assert.deepStrictEqual(shop.requests, [])
    })
  )

  it.live("pages and filters the resources that were sold", () =>
    Effect.gen(function* () {
      const { get, listed, page, sell, shop, url } = yield* open
      for (const path of ["/a", "/b", "/c"]) yield* sell(path)
      yield* listed(3)
      const second = yield* page("?limit=1&offset=1")
      assert.deepStrictEqual(second.pagination, { limit: 1, offset: 1, total: 3 })
      assert.deepStrictEqual(
        second.items.map(({ resource }) => resource),
        [`${shop.origin}/b`]
      )
      const totals: Record<string, number> = {}
      const payTo = "0x1111111111111111111111111111111111111111"
      const filters = [
        "type=http",
        "type=mcp",
        "scheme=exact",
        "scheme=upto",
        "network=eip155:8453",
        "network=eip155:1"
      ]
      for (const filter of [...filters, `payTo=${payTo}`, "payTo=0x2", "extensions=bazaar", "extensions=toString"]) {
        totals[filter] = (yield* page(`?${filter}`)).pagination.total
      }
      assert.deepStrictEqual(totals, {
        "type=http": 3,
        "type=mcp": 0,
        "scheme=exact": 3,
        "scheme=upto": 0,
        "network=eip155:8453": 3,
        "network=eip155:1": 0,
        [`payTo=${payTo}`]: 3,
        "payTo=0x2": 0,
        "extensions=bazaar": 3,
        "extensions=toString": 0
      })
      for (const query of ["limit=0", "limit=101", "limit=x", "offset=-1", "offset=1e9"]) {
        assert.strictEqual((yield* get(`/discovery/resources?${query}`)).status, 400, query)
      }
      assert.deepInclude(yield* json(yield* get("/supported")), { extensions: ["bazaar"] })
      const { discovery } = yield* Effect.provide(
        HttpApiClient.make(FacilitatorHttpApi, { baseUrl: url }),
        FetchHttpClient.layer
      )
      const typed = yield* discovery.resources({ query: { limit: 1, offset: 1 } })
      assert.deepStrictEqual(typed, second)
    })
  )

  it.live("lists nothing for a claim, a payment that is pending, or one that is only verified", () =>
    Effect.gen(function* () {
      const shop = yield* OfferingShop.open
      const pending = { ...settled, status: "accepted" } as const
      const { post } = yield* start(
        {
          verify: () => Effect.succeed({ payer: TestFacilitator.payer }),
          claim: () => Effect.succeed(pending),
          settle: () => Effect.succeed(pending)
        },
        { discovery: { origins: [shop.origin], allowPrivate: true } }
      )
      const named = { ...body, paymentRequirements: { ...request.paymentRequirements, resource: `${shop.origin}/a` } }
      for (const path of ["/verify", "/claims", "/settle"]) {
        assert.strictEqual((yield* post(path, path === "/verify" ? named : { ...named, claim })).status, 200)
      }
      assert.deepStrictEqual(shop.requests, [])
    })
  )

  it.live("does not begin with an origin that may not be listed", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(start({}, { discovery: { origins: ["https://10.0.0.1"] } }))
      assert.strictEqual(message, "the service's option discovery: origin 1 leads to a private network")
    })
  )
})
