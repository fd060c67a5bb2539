import { assert, describe, it } from "@effect/vitest"
import { Network, type PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { exactTron } from "../src/index.ts"
import * as TronAddress from "../src/primitives/TronAddress.ts"
import { localSigner } from "../src/wallet/LocalTronSigner.ts"

const signer = localSigner("1".padStart(64, "0"))
const client = exactTron.client({ signer })
const half = exactTron.server({ rpcUrl: "http://127.0.0.1:1" })

const requirements: PaymentRequirements.PaymentRequirements = {
  scheme: "exact",
  network: Network.make("tron:mainnet"),
  maxAmountRequired: "1500000",
  resource: "https://shop.example/report",
  payTo: TronAddress.toBase58(TronAddress.fromTail("2b5ad5c4795c026514f8317c7a215e218dccd6cf")),
  asset: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  extra: {
    assetTransferMethod: "transfer",
    minFeeLimit: "20000000",
    refBlock: { number: 71_234_567, bytes: "f807", hash: "8f3c0a1be2d4c599" }
  }
}

interface Payload {
  readonly from: string
  readonly signedTransaction: { readonly signature: readonly [string] }
}

const signedBy = Effect.fnUntraced(function* (payer: typeof signer) {
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the asset is not known")
  const window = { validAfter: 1_795_244_300, validBefore: 1_795_244_400, binding: undefined }
  const { payload } = yield* exactTron.client({ signer: payer }).sign({ requirements, asset, ...window })
  return payload as unknown as Payload
})

const inspect = (payload: unknown) => half.inspect?.(requirements, payload) ?? Effect.die("it does not look")

describe("what a shop sees of a payment on TRON by itself", () => {
  it.effect("is who pays whom how much, and that the payer has signed", () =>
    Effect.gen(function* () {
      const authorization = yield* inspect(yield* signedBy(signer))
      assert.deepInclude(authorization, { payer: signer.address, payTo: requirements.payTo, amount: 1_500_000n })
    })
  )

  it.effect("is that somebody else signed", () =>
    Effect.gen(function* () {
      const payload = yield* signedBy(signer)
      const other = yield* signedBy(localSigner("3".padStart(64, "0")))
      const [digits] = payload.signedTransaction.signature
      const flipped = `${digits.slice(0, -2)}${digits.endsWith("1b") || digits.endsWith("00") ? "1c" : "1b"}`
      for (const signature of [other.signedTransaction.signature[0], flipped, `${"11".repeat(64)}1b`]) {
        const forged = { ...payload, signedTransaction: { ...payload.signedTransaction, signature: [signature] } }
        const failure = Result.getOrThrow(Result.flip(yield* Effect.result(inspect(forged))))
        assert.deepInclude(failure, { _tag: "PaymentError", code: "INVALID_SIGNATURE" })
      }
    })
  )
})
