import { assert, describe, it } from "@effect/vitest"
import type { SchemeClient } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { DollarToken } from "@pontage/evm/testing"
import { wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"

import { bending, signOnly, type Tamper, tampering, watching } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const network = "eip155:31337"

/** Change of the payment between the buyer's signature and the shop. */
type Bend = (header: string) => string

const put =
  (fields: Readonly<Record<string, unknown>>): Bend =>
  (header) =>
    JSON.stringify({ ...JSON.parse(header), ...fields })

/** The signature lives an hour longer than the offer allows. */
const lasting = (schemeClient: SchemeClient): SchemeClient => ({
  ...schemeClient,
  sign: (request) => schemeClient.sign({ ...request, validBefore: request.validBefore + 3_600 })
})

interface Row {
  readonly reason: string
  readonly detail: string
  readonly status?: number
  readonly bend?: Bend
  readonly tamper?: Tamper
  readonly schemeClient?: (schemeClient: SchemeClient) => SchemeClient
}

const challenge = "A".repeat(43)

const rows: ReadonlyArray<Row> = [
  { reason: "malformed", detail: "not_json", bend: (header) => header.slice(0, -1) },
  { reason: "unsupported_version", detail: "protocol_version", bend: put({ protocolVersion: 1 }) },
  { reason: "unsupported_scheme", detail: "scheme_not_offered", bend: put({ scheme: "upto" }) },
  { reason: "unsupported_authorization", detail: "valid_too_long", schemeClient: lasting },
  { reason: "amount_mismatch", detail: "other_amount", tamper: (offer) => ({ ...offer, maxAmountRequired: "9999" }) },
  {
    reason: "binding_mismatch",
    detail: "other_request",
    tamper: (offer) => ({ ...offer, extra: { ...Object(offer["extra"]), challenge } })
  }
]

const described = [
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const

/** Buys, and gives what the client rejected with and what the shop said. */
const refusal = (
  url: string,
  signer: Parameters<typeof signOnly>[1],
  { bend = (header) => header, schemeClient = (own) => own, tamper = (offer) => offer }: Partial<Row>,
  assets: Parameters<typeof exactEvm.client>[0]["assets"] = []
) =>
  Effect.promise(async () => {
    const { refusals, watched } = watching(bending(tampering(tamper), bend))
    const paying = wrapFetch(watched, { schemes: [schemeClient(exactEvm.client({ signer, network, assets }))] })
    const error: unknown = await paying(url).then(
      () => "served",
      (refused: unknown) => refused
    )
    return { error, refusals }
  })

const check = ({ error, refusals }: Effect.Success<ReturnType<typeof refusal>>, { detail, reason, status }: Row) => {
  assert.propertyVal(error, "_tag", "ValidationError", reason)
  assert.propertyVal(error, "reason", reason)
  assert.strictEqual(refusals.length, 1, `${reason} is final: nothing is sent twice`)
  assert.include(refusals[0], { status: status ?? 402, reason, detail })
  assert.isNotEmpty(refusals[0]?.["accepts"])
}

describe.each(described)("an invalid payment to a %s shop", (_, open) => {
  it.live("fails in the client with the reason that the 402 carries, and moves no money", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        for (const row of rows) check(yield* refusal(`${shop.origin}/report`, chain.accounts.payers[0], row), row)
        assert.strictEqual(shop.handlers.reports, 0)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 0n)
      })
    )
  )

  it.live("asset_mismatch: in a token that the facilitator does not settle", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const address = yield* chain.deploy(DollarToken, ["Other Dollar", "OUSD", "1"])
        const asset = { network, address, symbol: "OUSD", decimals: 6, name: "Other Dollar", version: "1" }
        const shop = yield* open({ ...told, asset })
        const refused = yield* refusal(`${shop.origin}/report`, chain.accounts.payers[0], {}, [asset])
        check(refused, { reason: "asset_mismatch", detail: "asset_not_settled" })
        assert.strictEqual(shop.handlers.reports, 0)
      })
    )
  )

  it.live("already_used: with the authorization of a payment that was served, is a 409", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const url = `${shop.origin}/report`
        const [payer] = chain.accounts.payers
        const spent = yield* Effect.promise(() => signOnly(url, payer))
        const served = yield* Effect.promise(() => fetch(url, { headers: { "x-payment": spent } }))
        assert.strictEqual(served.status, 200)
        const refused = yield* refusal(url, payer, { bend: () => spent })
        check(refused, { reason: "already_used", detail: "spent", status: 409 })
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )
})
