import { assert, describe, it } from "@effect/vitest"
import { Network, type PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

import { exactEvm } from "../../src/index.ts"

const network = Network.make("eip155:8453")
const account = privateKeyToAccount(generatePrivateKey())
const client = exactEvm.client({ signer: account, network })
const rpcUrl = "http://127.0.0.1:1"
const any = exactEvm.server({ rpcUrl, network })
const plainOnly = exactEvm.server({ rpcUrl, network, contractPayers: "none" })

const requirements: PaymentRequirements.PaymentRequirements = {
  scheme: "exact",
  network,
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
}

interface Payload {
  readonly signature: string
  readonly authorization: { readonly from: string; readonly value: string }
}

const signed = Effect.gen(function* () {
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the asset is not known")
  const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore: 60, binding: undefined })
  return payload as unknown as Payload
})

/** The result of this scheme server for a payload, in a word. */
const said = (schemeServer: typeof any, payload: unknown) =>
  Effect.map(Effect.result(schemeServer.inspect?.(requirements, payload) ?? Effect.die("it does not look")), (result) =>
    Result.match(result, { onSuccess: ({ payer }) => payer, onFailure: ({ detail }) => detail })
  )

describe("a shop's own check of a payment on EVM", () => {
  it.effect("is who pays whom how much, without asking anybody", () =>
    Effect.gen(function* () {
      const payload = yield* signed
      for (const schemeServer of [any, plainOnly]) {
        const authorization = yield* schemeServer.inspect?.(requirements, payload) ?? Effect.die("it does not look")
        assert.deepInclude(authorization, { payer: account.address, payTo: requirements.payTo, amount: 10_000n })
      }
    })
  )

  it.effect("is whether the payer signed, where no account with code may pay", () =>
    Effect.gen(function* () {
      const payload = yield* signed
      const { authorization, signature } = payload
      const other = privateKeyToAccount(generatePrivateKey()).address
      const forged = [
        [{ authorization: { ...authorization, value: "1" }, signature }, "payer_mismatch"],
        [{ authorization: { ...authorization, from: other }, signature }, "payer_mismatch"],
        [{ authorization, signature: `0x${"11".repeat(64)}1b` }, "payer_mismatch"],
        [{ authorization, signature: signature.slice(0, -2) }, "compact"],
        [{ authorization, signature: "0x" }, "length"]
      ] as const
      for (const [made, detail] of forged) {
        assert.strictEqual(yield* said(plainOnly, made), detail)
        assert.match(yield* said(any, made), /^0x[0-9a-fA-F]{40}$/)
      }
    })
  )

  it.effect("is that no account could have made such a signature", () =>
    Effect.gen(function* () {
      const { authorization } = yield* signed
      for (const schemeServer of [any, plainOnly]) {
        assert.strictEqual(
          yield* said(schemeServer, { authorization, signature: "signed" }),
          "signature_not_hexadecimal"
        )
        assert.strictEqual(
          yield* said(schemeServer, { authorization, signature: `0x${"6492".repeat(20)}` }),
          "signature_erc6492"
        )
      }
    })
  )
})
