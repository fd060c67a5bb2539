import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Misconfigured, type PaymentRequirements, type SigningRequest } from "@pontage/core"
import * as Network from "@pontage/core/Network"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as TronSignature from "../../src/crypto/TronSignature.ts"
import { exactTron } from "../../src/index.ts"
import * as ExactTron from "../../src/payment/ExactTron.ts"
import * as TronAddress from "../../src/primitives/TronAddress.ts"
import * as TronHex from "../../src/primitives/TronHex.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as TronSigner from "../../src/wallet/TronSigner.ts"
import * as ScriptedNode from "../ScriptedNode.ts"
import { tronWebOf } from "../TronTransfers.ts"

const key = "1".padStart(64, "0")
const signer = localSigner(key)
const usdt = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
const payTo = TronAddress.toBase58(TronAddress.fromTail("2b5ad5c4795c026514f8317c7a215e218dccd6cf"))
const refBlock = { number: 71_234_567, bytes: "f807", hash: "8f3c0a1be2d4c599" }

type Changes = Partial<PaymentRequirements.PaymentRequirements>

const requirementsOf = (changes: Changes): PaymentRequirements.PaymentRequirements => ({
  scheme: "exact",
  network: Network.make("tron:mainnet"),
  maxAmountRequired: "1500000",
  resource: "https://shop.example/report",
  payTo,
  asset: usdt,
  extra: { assetTransferMethod: "transfer", minFeeLimit: "20000000", refBlock },
  ...changes
})

const request = (changes: Changes = {}, binding?: SigningRequest["binding"]): SigningRequest => {
  const requirements = requirementsOf(changes)
  const asset = exactTron.client({ signer }).asset(requirements)
  if (asset === undefined) throw new Error("the asset is not known")
  return { requirements, asset, validAfter: 1_795_244_300, validBefore: 1_795_244_400, binding }
}

const SignedJson = Schema.decodeUnknownSync(ExactTron.Payload)

/** The transfer in a payload's raw data. */
const transferIn = (json: unknown) => {
  const { signedTransaction } = SignedJson(json)
  return Result.getOrThrow(TronTransaction.decodeTransfer(TronHex.toBytes(signedTransaction.raw_data_hex)))
}

const failure = (options: Partial<Parameters<typeof exactTron.client>[0]>, signing = request()) =>
  Effect.map(Effect.flip(exactTron.client({ signer, ...options }).sign(signing)), ({ _tag, message }) => {
    assert.strictEqual(_tag, "SigningFailed")
    return message
  })

describe("exactTron.client", () => {
  it.effect("signs exactly the decided transfer", () =>
    Effect.gen(function* () {
      const signed = yield* exactTron.client({ signer }).sign(request())
      const { timestamp, ...terms } = transferIn(signed.payload)
      assert.deepStrictEqual(terms, {
        owner: TronAddress.fromText(signer.address),
        token: TronAddress.fromText(usdt),
        to: TronAddress.fromText(payTo),
        amount: 1_500_000n,
        feeLimit: 20_000_000n,
        expiration: 1_795_244_400_000n,
        refBlockBytes: "f807",
        refBlockHash: "8f3c0a1be2d4c599"
      })
      assert.isTrue(timestamp < 2n ** 48n)
      const { from, signedTransaction } = SignedJson(signed.payload)
      assert.deepStrictEqual([signed.payer, from], [signer.address, signer.address])
      assert.strictEqual(signed.nonce, signedTransaction.txID)
      const [signature = ""] = signedTransaction.signature
      assert.strictEqual(
        TronSignature.recoverAddress(TronHex.toBytes(signed.nonce), signature),
        TronAddress.fromText(signer.address)
      )
    })
  )

  it.effect("signs with tronweb the same bytes, in a lower-case signature", () =>
    Effect.gen(function* () {
      const wallet = TronSigner.fromTronWeb(tronWebOf(key))
      const signed = yield* exactTron.client({ signer: wallet }).sign(request())
      const { signedTransaction } = SignedJson(signed.payload)
      assert.match(signedTransaction.signature[0] ?? "", /^[0-9a-f]{128}1[bc]$/)
      assert.strictEqual(
        TronSignature.recoverAddress(TronHex.toBytes(signed.nonce), signedTransaction.signature[0] ?? ""),
        TronAddress.fromText(wallet.address)
      )
    })
  )

  it.effect("sends nothing of the wallet's JSON form", () =>
    Effect.gen(function* () {
      const { payload } = yield* exactTron.client({ signer: TronSigner.fromTronWeb(tronWebOf(key)) }).sign(request())
      const json = JSON.parse(JSON.stringify(payload))
      assert.deepStrictEqual(Object.keys(json).toSorted(), ["from", "signedTransaction"])
      assert.deepStrictEqual(Object.keys(json.signedTransaction).toSorted(), ["raw_data_hex", "signature", "txID"])
    })
  )

  it.effect("takes another timestamp of 48 bits each time, so that payments are distinct", () =>
    Effect.gen(function* () {
      const { sign } = exactTron.client({ signer })
      const all = yield* Effect.forEach([1, 2, 3, 4], () => sign(request()))
      assert.strictEqual(new Set(all.map(({ nonce }) => nonce)).size, 4)
      assert.strictEqual(new Set(all.map(({ payload }) => transferIn(payload).timestamp)).size, 4)
    })
  )

  it.effect("derives the timestamp from a challenge, and puts the binding into the payload", () =>
    Effect.gen(function* () {
      const salt = Buffer.alloc(16, 7)
      const binding = { challenge: "challenge-of-a-shop", salt: salt.toString("base64url") }
      const tag = createHash("sha256").update(binding.challenge, "ascii").update(salt).digest("hex")
      const { payload } = yield* exactTron.client({ signer }).sign(request({}, binding))
      assert.deepStrictEqual(SignedJson(payload).binding, binding)
      assert.strictEqual(transferIn(payload).timestamp, BigInt(`0x${tag.slice(0, 12)}`))
    })
  )

  it.effect("requests a solidified block from its node if the offer names none", () =>
    Effect.gen(function* () {
      const requests: Array<string> = []
      const node = yield* ScriptedNode.make((response, { path }) => {
        requests.push(path)
        response.end(JSON.stringify(ScriptedNode.block(0x12_f8_07)))
      })
      const signing = request({ extra: {} })
      const { payload } = yield* exactTron.client({ signer, rpcUrl: node.url }).sign(signing)
      const { feeLimit, refBlockBytes, refBlockHash } = transferIn(payload)
      assert.deepStrictEqual([refBlockBytes, refBlockHash, feeLimit], ["f807", "8f3c0a1be2d4c599", 30_000_000n])
      assert.deepStrictEqual(requests, ["walletsolidity/getblock"])
      yield* exactTron.client({ signer, rpcUrl: node.url }).sign(request())
      assert.strictEqual(requests.length, 1)
    })
  )

  it.effect("names the missing option if there is no block to refer to", () =>
    Effect.gen(function* () {
      const signing = request({ extra: {} })
      assert.match(yield* failure({}, signing), /rpcUrl/)
      const node = yield* ScriptedNode.make(ScriptedNode.always({ Error: "down" }))
      assert.match(yield* failure({ rpcUrl: node.url }, signing), /failed: down/)
    })
  )

  it.effect("does not sign an offer with an invalid extra, nor above its own limit", () =>
    Effect.gen(function* () {
      const unwilling = { address: signer.address, signTransaction: () => Promise.reject(new Error("must not sign")) }
      for (const extra of [
        { refBlock, minFeeLimit: "-1" },
        { refBlock, minFeeLimit: "1e9" },
        { refBlock, minFeeLimit: "0" },
        { refBlock: { bytes: "f8", hash: "8f3c0a1be2d4c599" } },
        { refBlock: "f807" }
      ]) {
        assert.match(yield* failure({ signer: unwilling }, request({ extra })), /extra holds/)
      }
      const dear = request({ extra: { refBlock, minFeeLimit: "100000001" } })
      assert.match(yield* failure({ signer: unwilling }, dear), /maxFeeLimit/)
      assert.match(yield* failure({ signer: unwilling, maxFeeLimit: 19_999_999n }), /above maxFeeLimit 19999999/)
      yield* exactTron.client({ signer, maxFeeLimit: 100_000_001n }).sign(dear)
    })
  )

  it.effect("does not pay to an invalid recipient, nor to itself", () =>
    Effect.gen(function* () {
      for (const recipient of ["", "T123", `${payTo.slice(0, -1)}1`, signer.address]) {
        assert.match(yield* failure({}, request({ payTo: recipient })), /recipient/)
      }
    })
  )

  it.effect("refuses a wallet's result without the same bytes and one signature", () =>
    Effect.gen(function* () {
      const other = TronHex.fromBytes(new Uint8Array(211))
      const signature = [`${"ab".repeat(64)}1b`]
      const answers: ReadonlyArray<(raw: string) => unknown> = [
        () => Promise.reject(new Error("declined")),
        () => undefined,
        () => null,
        () => ({}),
        () => "signed",
        (raw_data_hex) => ({ raw_data_hex }),
        () => ({ raw_data_hex: other, signature }),
        (raw) => ({ raw_data_hex: `${raw}00`, signature }),
        (raw_data_hex) => ({ raw_data_hex, signature: [] }),
        (raw_data_hex) => ({ raw_data_hex, signature: [...signature, ...signature] }),
        (raw_data_hex) => ({ raw_data_hex, signature: ["0x"] }),
        (raw_data_hex) => ({ raw_data_hex, signature: [`${"ab".repeat(65)}1b`] })
      ]
      for (const answer of answers) {
        const tronWeb = {
          defaultAddress: { base58: signer.address },
          trx: { sign: async (unsigned: unknown) => answer(rawOf(unsigned)) }
        }
        assert.match(yield* failure({ signer: TronSigner.fromTronWeb(tronWeb) }), /^the wallet of T/, String(answer))
      }
    })
  )

  it.effect("keeps a wallet's this", () =>
    Effect.gen(function* () {
      class Wallet implements TronSigner.TronSigner {
        readonly address = signer.address
        readonly #inner = signer
        signTransaction(unsigned: TronTransaction.Unsigned) {
          return this.#inner.signTransaction(unsigned)
        }
      }
      const signed = yield* exactTron.client({ signer: new Wallet() }).sign(request())
      assert.strictEqual(signed.payer, signer.address)
    })
  )

  it("finds only assets by their addresses on their networks", () => {
    const { asset } = exactTron.client({ signer, network: "tron:0x2b6653dc" })
    assert.strictEqual(asset(requirementsOf({}))?.address, usdt)
    for (const other of [payTo, "", "T", usdt.toLowerCase()]) {
      assert.isUndefined(asset(requirementsOf({ asset: other })), other)
    }
    assert.isUndefined(exactTron.client({ signer, network: "tron:nile" }).asset(requirementsOf({})))
  })

  it("refuses an invalid network, address, asset or node", () => {
    assert.throws(() => exactTron.client({ signer, network: "eip155:1" }), Misconfigured)
    assert.throws(() => exactTron.client({ signer: { ...signer, address: "T1" } }), Misconfigured)
    assert.throws(() => exactTron.client({ signer, rpcUrl: "ftp://node" }), Misconfigured)
    const asset = { network: "tron:mainnet", address: "T1", symbol: "X", decimals: 6 }
    assert.throws(() => exactTron.client({ signer, assets: [asset] }), Misconfigured)
  })
})

const isUnsigned = Schema.is(Schema.Struct({ raw_data_hex: Schema.String }))
const rawOf = (unsigned: unknown): string => (isUnsigned(unsigned) ? unsigned.raw_data_hex : "")
