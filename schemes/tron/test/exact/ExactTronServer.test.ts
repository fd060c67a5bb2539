import { assert, describe, it } from "@effect/vitest"
import { Misconfigured, type PaymentRequirements } from "@pontage/core"
import * as Network from "@pontage/core/Network"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { exactTron } from "../../src/index.ts"
import * as TronAddress from "../../src/primitives/TronAddress.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as ScriptedNode from "../ScriptedNode.ts"

const mainnet = Network.make("tron:mainnet")
const word = (value: bigint) => value.toString(16).padStart(64, "0")
const genesis = (end: string) => ({
  ...ScriptedNode.block(0, undefined, 0),
  blockID: `${"0".repeat(16)}${"1e".repeat(20)}${end}`
})
const decimals = (value: bigint) => ({
  result: { result: true },
  constant_result: [word(value)],
  transaction: { ret: [{}] }
})
const answers = { "wallet/getblock": genesis("2b6653dc"), "wallet/triggerconstantcontract": decimals(6n) }

/** The outcome of proving on a node with these responses. */
const proving = Effect.fnUntraced(function* (changes: Readonly<Record<string, unknown>> = {}) {
  const { url } = yield* ScriptedNode.table({ ...answers, ...changes })
  const scheme = exactTron.server({ rpcUrl: url })
  const asset = scheme.asset(mainnet, undefined)
  return yield* Effect.match(scheme.prove(mainnet, asset === undefined ? [] : [asset]), {
    onSuccess: () => "proven",
    onFailure: ({ _tag, message }) => `${_tag}: ${message}`
  })
})

describe("exactTron.server", () => {
  it.effect("proves the network and the token", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* proving(), "proven")
    })
  )

  it.effect("names the other network that a node serves", () =>
    Effect.gen(function* () {
      assert.match(yield* proving({ "wallet/getblock": genesis("cd8690dc") }), /^Misconfigured: .*serves tron:nile/)
      assert.match(yield* proving({ "wallet/getblock": genesis("00000000") }), /^Misconfigured: .*serves tron:local/)
      assert.match(yield* proving({ "wallet/getblock": {} }), /^Misconfigured/)
    })
  )

  it.effect("names a token that differs from the table", () =>
    Effect.gen(function* () {
      const path = "wallet/triggerconstantcontract"
      assert.match(
        yield* proving({ [path]: decimals(18n) }),
        /^Misconfigured: decimals\(\) of the token USDT .* returned 18, expected 6/
      )
      const absent = { result: { code: "CONTRACT_VALIDATE_ERROR", message: "Smart contract is not exist." } }
      assert.match(yield* proving({ [path]: absent }), /^Misconfigured: .*not exist/)
      const empty = { ...decimals(6n), constant_result: [""] }
      assert.match(yield* proving({ [path]: empty }), /^Misconfigured: .*returned no number/)
    })
  )

  it.effect("fails without a verdict if the node sends no valid response", () =>
    Effect.gen(function* () {
      for (const path of Object.keys(answers)) {
        assert.match(yield* proving({ [path]: { Error: "down" } }), /^ChainUnavailable/, path)
        assert.match(
          yield* proving({ [path]: { result: { code: "OTHER_ERROR" } } }),
          /^(ChainUnavailable|Misconf)/,
          path
        )
      }
      const busy = { result: { code: "SERVER_BUSY" } }
      assert.match(yield* proving({ "wallet/triggerconstantcontract": busy }), /^ChainUnavailable/)
    })
  )

  it("serves mainnet by default, and names the transfer method in offers", () => {
    const scheme = exactTron.server({ rpcUrl: "http://127.0.0.1:1" })
    assert.strictEqual(scheme.network, "tron:mainnet")
    assert.deepStrictEqual(scheme.asset(mainnet, "USDT")?.extra, {
      assetTransferMethod: "transfer",
      minFeeLimit: "30000000"
    })
    assert.deepStrictEqual(scheme.assetNames(mainnet), ["USDT (TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t)"])
    assert.strictEqual(exactTron.server({ rpcUrl: "http://127.0.0.1:1", network: "nile" }).network, "tron:nile")
    assert.throws(() => exactTron.server({ rpcUrl: "http://127.0.0.1:1", network: "eip155:1" }), Misconfigured)
  })
})

const signer = localSigner("1".padStart(64, "0"))
const client = exactTron.client({ signer })
const inspecting = exactTron.server({ rpcUrl: "http://127.0.0.1:1" })

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

const inspect = (payload: unknown) =>
  inspecting.inspect?.(requirements, payload) ?? Effect.die("the scheme has no inspection")

describe("exactTron.server inspects a payment offline and", () => {
  it.effect("reads the payer, the recipient, the amount and the signature", () =>
    Effect.gen(function* () {
      const authorization = yield* inspect(yield* signedBy(signer))
      assert.deepInclude(authorization, { payer: signer.address, payTo: requirements.payTo, amount: 1_500_000n })
    })
  )

  it.effect("finds the signature of another key", () =>
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
