import { assert, describe, it } from "@effect/vitest"
import { FacilitatorApi, FacilitatorClient } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import type { CallerTerms } from "../../src/callers/CallerTerms.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, payTo, paymentId, request, settled, start } = TestFacilitator

const decodeFault = Schema.decodeUnknownEffect(FacilitatorApi.Fault)

const shopKey = "shop-key-of-a-test-0001"
const openKey = "open-key-of-a-test-0002"
const callers: ReadonlyArray<CallerTerms> = [
  {
    name: "shop",
    keys: [ApiKey.digestOf(shopKey)],
    registrations: [{ payees: [payTo.toUpperCase().replace("0X", "0x")] }]
  },
  { name: "open", keys: [ApiKey.digestOf("an-older-key-of-it"), ApiKey.digestOf(openKey)] }
]

const methods = {
  verify: () => Effect.succeed({ payer: TestFacilitator.payer }),
  settle: () => Effect.succeed(settled),
  claim: () => Effect.succeed(settled),
  finish: () => Effect.succeed(TestFacilitator.record)
}

const elsewhere = {
  ...body,
  paymentRequirements: { ...request.paymentRequirements, payTo: "0x9999999999999999999999999999999999999999" }
}
const otherNetwork = { ...body, paymentRequirements: { ...request.paymentRequirements, network: "eip155:1" } }
const finish = { claimId: claim.id, outcome: "served" }

const asked = () => Effect.die("asked")

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

describe("without a key", () => {
  it.live.each([
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { authorization: shopKey },
    { authorization: `Basic ${shopKey}` },
    bearer(shopKey.slice(0, -1)),
    bearer(`${shopKey}x`),
    bearer(shopKey.toUpperCase())
  ])("401 with a fault, and no facilitator is called: %j", (headers: Record<string, string>) =>
    Effect.gen(function* () {
      const { get, post } = yield* start(
        { verify: asked, settle: asked, claim: asked, finish: asked },
        { callers },
        undefined,
        { find: asked, page: asked }
      )
      const answers = [
        yield* post("/verify", body, headers),
        yield* post("/settle", { ...body, claim }, headers),
        yield* post("/claims", { ...body, claim }, headers),
        yield* post(`/payments/${paymentId}/finish`, finish, headers),
        yield* post("/settle", "{", headers)
      ]
      answers.push(yield* get(`/payments/${paymentId}`, headers), yield* get("/payments", headers))
      for (const answer of answers) {
        assert.strictEqual(answer.status, 401)
        assert.strictEqual((yield* decodeFault(yield* json(answer))).error, "unauthenticated")
      }
    })
  )

  it.live("the rest is open", () =>
    Effect.gen(function* () {
      const { get } = yield* start(methods, { callers })
      for (const path of ["/live", "/ready", "/metrics", "/docs", "/supported"])
        assert.strictEqual((yield* get(path)).status, 200)
    })
  )
})

describe("with a key", () => {
  it.live("every call gets its response, also with the scheme in small letters", () =>
    Effect.gen(function* () {
      const { post } = yield* start(methods, { callers })
      for (const headers of [bearer(openKey), bearer(shopKey), { authorization: `bearer ${openKey}` }]) {
        assert.strictEqual((yield* post("/verify", body, headers)).status, 200)
        assert.strictEqual((yield* post("/settle", { ...body, claim }, headers)).status, 200)
        assert.strictEqual((yield* post("/claims", { ...body, claim }, headers)).status, 200)
        assert.strictEqual((yield* post(`/payments/${paymentId}/finish`, finish, headers)).status, 200)
      }
    })
  )

  it.live("a limited key is for its payees alone, in any spelling", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: asked, settle: asked, claim: asked }, { callers })
      for (const path of ["/verify", "/settle", "/claims"]) {
        for (const sent of [elsewhere, otherNetwork, { ...elsewhere, protocolVersion: 7 }]) {
          const answer = yield* post(path, { ...sent, claim }, bearer(shopKey))
          assert.strictEqual(answer.status, 403)
          assert.strictEqual((yield* decodeFault(yield* json(answer))).error, "forbidden")
        }
      }
    })
  )

  it.live("an unlimited key is for all payees", () =>
    Effect.gen(function* () {
      const { post } = yield* start(methods, { callers })
      assert.strictEqual((yield* post("/settle", elsewhere, bearer(openKey))).status, 200)
    })
  )

  it.live("the client sends it, and reports that it is missing", () =>
    Effect.gen(function* () {
      const { client, url } = yield* start(methods, { callers })
      const keyed = yield* FacilitatorClient.make({ url, headers: bearer(openKey) })
      assert.deepStrictEqual(yield* keyed.settle(request, claim), settled)
      const failure = yield* Effect.flip(client.settle(request, claim))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "check the API key")
    })
  )
})
