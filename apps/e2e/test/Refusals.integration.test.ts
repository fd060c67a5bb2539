import { assert, describe, it } from "@effect/vitest"
import type { SchemeClient } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

import { type Signer, type Tamper, tampering, watching } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const network = "eip155:31337"
const elsewhere = "eip155:8453"

const clientOf = (signer: Signer, chain: string = network) => exactEvm.client({ signer, network: chain })

const early = (schemeClient: SchemeClient): SchemeClient => ({
  ...schemeClient,
  sign: (request) => schemeClient.sign({ ...request, validBefore: request.validBefore - 600 })
})

const otherKey = (signer: Signer): Signer => ({
  ...privateKeyToAccount(generatePrivateKey()),
  address: signer.address
})

const base = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

interface Row {
  readonly code: string
  readonly scheme: (signer: Signer) => SchemeClient
  readonly tamper?: Tamper
}

const rows: ReadonlyArray<Row> = [
  { code: "INSUFFICIENT_BALANCE", scheme: () => clientOf(privateKeyToAccount(generatePrivateKey())) },
  { code: "INVALID_SIGNATURE", scheme: (signer) => clientOf(otherKey(signer)) },
  { code: "EXPIRED_PAYMENT", scheme: (signer) => early(clientOf(signer)) },
  {
    code: "NETWORK_MISMATCH",
    scheme: (signer) => clientOf(signer, elsewhere),
    tamper: (offer) => ({ ...offer, network: elsewhere, asset: base, extra: {} })
  },
  {
    code: "INVALID_RECIPIENT",
    scheme: clientOf,
    tamper: (offer) => ({ ...offer, payTo: "0x000000000000000000000000000000000000dEaD" })
  }
]

describe.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a payment that a %s shop refuses", (_, open) => {
  it.live("fails in the client with the code that the 402 carries, and moves no money", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        for (const { code, scheme, tamper } of rows) {
          const { refusals, watched } = watching(tampering(tamper ?? ((offer) => offer)))
          const paying = wrapFetch(watched, { schemes: [scheme(chain.accounts.payers[0])] })
          const error: unknown = yield* Effect.promise(() =>
            paying(`${shop.origin}/report`).then(
              () => "served",
              (refused: unknown) => refused
            )
          )
          assert.propertyVal(error, "_tag", "PaymentError", code)
          assert.propertyVal(error, "code", code)
          assert.propertyVal(refusals.at(-1), "code", code)
          assert.property(refusals.at(-1), "accepts")
        }
        assert.strictEqual(shop.handlers.reports, 0)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 0n)
      })
    )
  )
})
