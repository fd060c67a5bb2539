/** Every check of a payment, one broken condition at a time, with transactions that tronweb signed; no refused payment moves money. */
import { assert, describe, layer } from "@effect/vitest"
import * as Network from "@pontage/core/Network"
import * as Effect from "effect/Effect"

import * as TronHex from "../../src/primitives/TronHex.ts"
import { TronSilentToken, TronTestAccounts, TronTestChain } from "../../src/testing/index.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as Payment from "../TronTestPayment.ts"

const key = (address: string) => [{ address, weight: 1 }]

type Shape = TronTestChain.Shape
type Deviating = Payment.Deviation | ((chain: Shape) => Effect.Effect<Payment.Deviation>)

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The malleated twin of a signature. */
const twin = (signature: string): string => {
  const s = order - BigInt(`0x${signature.slice(64, 128)}`)
  return `${signature.slice(0, 64)}${TronHex.toWord(s)}${signature.slice(128).toLowerCase() === "1b" ? "1c" : "1b"}`
}

const signatures = (change: (signature: string) => ReadonlyArray<unknown>): Payment.Deviation => ({
  written: (signed) => ({ signedTransaction: { ...signed, signature: change(signed.signature[0] ?? "") } })
})
const transaction = (change: (signed: Payment.SignedJson) => object): Payment.Deviation => ({
  written: (signed) => ({ signedTransaction: { ...signed, ...change(signed) } })
})
const terms = (transfer: Partial<TronTransaction.TokenTransfer>): Payment.Deviation => ({ transfer })
const now = () => BigInt(Math.floor(performance.timeOrigin + performance.now()))

/** A new account with tokens and the given sun. */
const newcomer = Effect.fnUntraced(function* (chain: Shape, name: string, sun: bigint) {
  const payer = TronTestAccounts.named(name)
  yield* chain.mint(payer.address, 1_000_000n)
  if (sun > 0n) yield* chain.fund(payer.address, sun)
  return payer
})

const payerOf = ({ accounts: { payers } }: Shape, index: number) => payers[index] ?? payers[0]

const offline: Readonly<Record<string, readonly [string, Deviating]>> = {
  "the envelope names another network": ["NETWORK_MISMATCH other_network", { envelope: { network: "tron:nile" } }],
  "the offer is on another network": [
    "NETWORK_MISMATCH network_not_settled",
    { requirements: { network: Network.make("tron:shasta") } }
  ],
  "there is no signature": ["malformed payload_fields", signatures(() => [])],
  "there are two signatures": ["malformed payload_fields", signatures((one) => [one, one])],
  "the signature has 64 bytes": ["malformed signature_form", signatures((one) => [one.slice(2)])],
  "the signature has 66 bytes": ["malformed signature_form", signatures((one) => [`${one}00`])],
  "the signature is not a text": ["malformed payload_fields", signatures(() => [1])],
  "the payload has no transaction": ["malformed payload_fields", { written: () => ({ signedTransaction: null }) }],
  "the payer is written in hexadecimal": [
    "malformed payload_fields",
    { written: () => ({ from: `41${"00".repeat(20)}` }) }
  ],
  "the raw data is in upper case": [
    "malformed payload_fields",
    transaction(({ raw_data_hex }) => ({ raw_data_hex: raw_data_hex.toUpperCase() }))
  ],
  "the id is of another transaction": ["malformed txid", transaction(() => ({ txID: "00".repeat(32) }))],
  "a byte of the raw data is changed": [
    "malformed txid",
    transaction(({ raw_data_hex }) => ({ raw_data_hex: raw_data_hex.replace("2710", "2711") }))
  ],
  "there is a memo": ["unsupported_authorization raw_data", { raw: { data: "6d656d6f" } }],
  "an unknown field is appended": ["unsupported_authorization raw_data", { behind: "a00101" }],
  "it is for another permission": ["unsupported_authorization contract", { contract: { Permission_id: 2 } }],
  "it carries TRX": ["unsupported_authorization contract", { call: { call_value: 1 } }],
  "it carries a TRC-10 token": [
    "unsupported_authorization contract",
    { call: { call_token_value: 1, token_id: 1_000_001 } }
  ],
  "it approves instead": ["unsupported_authorization call_data", { call: { data: `095ea7b3${"0".repeat(128)}` } }],
  "its call has more data": [
    "unsupported_authorization call_data",
    (chain) =>
      Effect.sync(() => ({
        call: { data: `${TronTransaction.transferCallData(Payment.parsed(chain.accounts.payee.address), 10_000n)}00` }
      }))
  ],
  "the token is not settled here": [
    "asset_mismatch asset_not_settled",
    (chain) => Effect.sync(() => ({ requirements: { asset: chain.accounts.stranger.address } }))
  ],
  "another contract is called": [
    "asset_mismatch other_asset",
    (chain) => Effect.sync(() => terms({ token: Payment.parsed(chain.accounts.stranger.address) }))
  ],
  "it goes to another recipient": [
    "INVALID_RECIPIENT other_recipient",
    (chain) => Effect.sync(() => terms({ to: Payment.parsed(chain.accounts.stranger.address) }))
  ],
  "it goes to the payer": [
    "INVALID_RECIPIENT self_payment",
    (chain) => Effect.sync(() => terms({ to: Payment.parsed(chain.accounts.payers[0].address) }))
  ],
  "its amount is one unit less": ["amount_mismatch other_amount", terms({ amount: 9_999n })],
  "its amount is one unit more": ["amount_mismatch other_amount", terms({ amount: 10_001n })],
  "it has expired": ["EXPIRED_PAYMENT expired", terms({ expiration: now() - 1_000n })],
  "it expires in a moment": ["EXPIRED_PAYMENT expired", () => Effect.sync(() => terms({ expiration: now() + 5_000n }))],
  "it is valid for too long": [
    "unsupported_authorization valid_too_long",
    () => Effect.sync(() => terms({ expiration: now() + 3_600_000n }))
  ],
  "another key has signed": [
    "INVALID_SIGNATURE signer",
    (chain) => Effect.sync(() => ({ signer: chain.accounts.stranger }))
  ],
  "the signature is the malleated twin": ["INVALID_SIGNATURE high_s", signatures((one) => [twin(one)])],
  "the signature names the other key": [
    "INVALID_SIGNATURE signer",
    signatures((one) => [`${one.slice(0, 128)}${one.slice(128).toLowerCase() === "1b" ? "1c" : "1b"}`])
  ],
  "the payload names another payer": [
    "INVALID_SIGNATURE payer_mismatch",
    (chain) => Effect.sync(() => ({ written: () => ({ from: chain.accounts.stranger.address }) }))
  ],
  "its binding is of another request": [
    "binding_mismatch timestamp_not_bound",
    () => Effect.sync(() => ({ ...Payment.bound(), transfer: { timestamp: 1n } }))
  ]
}

const onChain: Readonly<Record<string, readonly [string, Deviating]>> = {
  "the reference block is on another chain": [
    "NETWORK_MISMATCH ref_block",
    terms({ refBlockHash: "0123456789abcdef" })
  ],
  "the reference block is older than the chain": ["EXPIRED_PAYMENT ref_block_old", terms({ refBlockBytes: "8000" })],
  "the payer is not activated": [
    "INSUFFICIENT_BALANCE payer_not_activated",
    (chain) => Effect.map(newcomer(chain, "never activated", 0n), (payer) => ({ payer }))
  ],
  "the payer's account belongs to another key now": [
    "INVALID_SIGNATURE permission",
    Effect.fnUntraced(function* (chain: Shape) {
      const payer = payerOf(chain, 1)
      const owner = { type: 0, permission_name: "owner", threshold: 1, keys: key(chain.accounts.stranger.address) }
      const operations = "7fff1fc0033efb0f000000000000000000000000000000000000000000000000"
      const active = { type: 2, id: 2, permission_name: "active", threshold: 1, operations, keys: key(payer.address) }
      const fields = { owner, actives: [active] }
      yield* chain.send({ contract: "AccountPermissionUpdateContract", fields }, payer)
      return { payer }
    })
  ],
  "the payer lacks the tokens": [
    "INSUFFICIENT_BALANCE token",
    (chain) => Effect.sync(() => ({ payer: chain.accounts.stranger }))
  ],
  "the token blocks the payer": [
    "INSUFFICIENT_BALANCE simulation_reverted",
    Effect.fnUntraced(function* (chain: Shape) {
      const payer = payerOf(chain, 2)
      yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
      return { payer }
    })
  ],
  "the fee limit is below the energy": ["INSUFFICIENT_BALANCE fee_limit", terms({ feeLimit: 100_000n })],
  "the fee limit is above the operator's": ["INSUFFICIENT_BALANCE fee_limit", terms({ feeLimit: 100_000_001n })],
  "the payer lacks the TRX for the energy": [
    "INSUFFICIENT_BALANCE trx_for_fees",
    (chain) => Effect.map(newcomer(chain, "some TRX", 1_000_000n), (payer) => ({ payer }))
  ]
}

const deviationOf = (chain: Shape, deviating: Deviating) =>
  typeof deviating === "function" ? deviating(chain) : Effect.succeed(deviating)

/** The outcome of claiming, settling and verifying a payment, none of which may pay the payee. */
const refusalOf = Effect.fnUntraced(function* (deviation: Payment.Deviation, options: Payment.FacilitatorOptions = {}) {
  const chain = yield* TronTestChain.TronTestChain
  const { claim, settle, verify } = yield* Payment.facilitator(options)
  const request = yield* Payment.payment(deviation)
  const before = yield* chain.balanceOf(chain.accounts.payee.address, deviation.requirements?.asset)
  const words = new Set([
    yield* Payment.outcome(verify(request)),
    yield* Payment.outcome(claim(request, Payment.claim("a"))),
    yield* Payment.outcome(settle(request, Payment.claim("b")))
  ])
  const after = yield* chain.balanceOf(chain.accounts.payee.address, deviation.requirements?.asset)
  assert.strictEqual(after, before)
  return [...words].join(", ")
})

describe("exactTron.facilitator refuses a payment when", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    for (const [name, [word, deviating]] of Object.entries(offline)) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const before = yield* Payment.broadcasts
          assert.strictEqual(yield* refusalOf(yield* deviationOf(chain, deviating)), word)
          assert.strictEqual(yield* Payment.broadcasts, before)
        })
      )
    }

    for (const [name, [word, deviating]] of Object.entries(onChain)) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          assert.strictEqual(yield* refusalOf(yield* deviationOf(chain, deviating)), word)
        })
      )
    }

    it.effect("it is on the chain already, or pending", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const deviation = yield* Payment.transfer()
        const one = yield* Payment.payment({ transfer: deviation })
        yield* chain.setMining("manual")
        yield* scheme.submit(yield* Payment.prepare(scheme, yield* Payment.read(scheme, one)))
        assert.strictEqual(yield* refusalOf({ transfer: deviation }), "already_used on_chain")
        yield* chain.setMining("instant")
        yield* chain.mine()
        assert.strictEqual(yield* refusalOf({ transfer: deviation }), "already_used on_chain")
      })
    )

    it.effect("the reference block is an hour old", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { refBlockBytes, refBlockHash } = yield* Payment.transfer()
        const old = { payer: payerOf(chain, 4), transfer: { refBlockBytes, refBlockHash } }
        const scheme = yield* Payment.schemeFacilitator()
        yield* chain.mine(1_200)
        yield* scheme.verify(yield* Payment.read(scheme, yield* Payment.payment(old)))
        yield* chain.mine()
        assert.strictEqual(yield* refusalOf(old), "EXPIRED_PAYMENT ref_block_old")
      })
    )

    it.effect("the payer has neither free bandwidth nor the TRX for bandwidth", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* newcomer(chain, "exact TRX", 20_000_000n)
        const { settle } = yield* Payment.facilitator()
        yield* settle(yield* Payment.payment({ payer }))
        const { amount, owner, to, token } = yield* Payment.transfer({ payer })
        const simulated = yield* (yield* Payment.rpc).call(owner, token, TronTransaction.transferCallData(to, amount))
        const energy = simulated._tag === "Returned" ? simulated.energy * 100n : 0n
        yield* chain.drain(payer.address)
        yield* chain.fund(payer.address, energy)
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        const bytes = (yield* Payment.prepare(scheme, one)).bytes.length / 2
        const bandwidth = BigInt(bytes + 64) * 1_000n
        assert.strictEqual(yield* refusalOf({ payer }), "INSUFFICIENT_BALANCE trx_for_fees")
        yield* chain.fund(payer.address, bandwidth - 1n)
        assert.strictEqual(yield* refusalOf({ payer }), "INSUFFICIENT_BALANCE trx_for_fees")
        yield* chain.fund(payer.address, 1n)
        assert.strictEqual(yield* Payment.settled(settle(yield* Payment.payment({ payer }))), "included")
        assert.strictEqual(yield* chain.balance(payer.address), 0n)
      })
    )

    it.effect("the token is paused, takes a fee, or logs no event", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = payerOf(chain, 5)
        yield* chain.call({ signature: "pause()" })
        assert.strictEqual(yield* refusalOf({ payer }), "INSUFFICIENT_BALANCE simulation_reverted")
        yield* chain.call({ signature: "unpause()" })
        yield* chain.call({ signature: "setParams(uint256,uint256)", parameters: [10n, 1_000_000n] })
        assert.strictEqual(yield* refusalOf({ payer }), "INVALID_RECIPIENT transfer_effect")
        yield* chain.call({ signature: "setParams(uint256,uint256)", parameters: [0n, 0n] })
        const silent = yield* chain.deploy(TronSilentToken)
        yield* chain.mint(payer.address, 1_000_000n, silent)
        const inSilence = { payer, transfer: { token: Payment.parsed(silent) }, requirements: { asset: silent } }
        assert.strictEqual(yield* refusalOf(inSilence, { tokens: [silent] }), "INVALID_RECIPIENT transfer_effect")
      })
    )

    it.effect("it is invalid, but accepts every form of its signature", () =>
      Effect.gen(function* () {
        const scheme = yield* Payment.schemeFacilitator()
        const forms: ReadonlyArray<(one: string) => string> = [
          (one) => one.toLowerCase(),
          (one) => one.toUpperCase(),
          (one) => `0x${one}`,
          (one) => `${one.slice(0, 128)}${one.slice(128).toLowerCase() === "1b" ? "00" : "01"}`
        ]
        for (const form of forms) {
          const request = yield* Payment.payment(signatures((one) => [form(one)]))
          yield* scheme.verify(yield* Payment.read(scheme, request))
        }
      })
    )
  })
})

/** The outcome of verifying a payment whose transaction expires this many milliseconds after the head. */
const verified = Effect.fnUntraced(function* (millis: bigint, options: Payment.FacilitatorOptions = {}) {
  const head = yield* (yield* Payment.rpc).head
  const scheme = yield* Payment.schemeFacilitator(options)
  const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { expiration: head.time + millis } }))
  return yield* Payment.outcome(scheme.verify(one))
})

/** The outcome of verifying a payment whose reference block is this many blocks ahead of the head. */
const referring = Effect.fnUntraced(function* (ahead: bigint) {
  const head = yield* (yield* Payment.rpc).head
  const refBlockBytes = ((head.number + ahead) & 0xffffn).toString(16).padStart(4, "0")
  const scheme = yield* Payment.schemeFacilitator()
  const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { refBlockBytes } }))
  return yield* Payment.outcome(scheme.verify(one))
})

describe("ExactTronVerification", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("requires two slots of validity by the chain's clock, and five with a sponsor", () =>
      Effect.gen(function* () {
        const { accounts } = yield* TronTestChain.TronTestChain
        assert.strictEqual(yield* verified(6_001n), "ok")
        assert.strictEqual(yield* verified(6_000n), "EXPIRED_PAYMENT expired")
        const sponsor = { signer: localSigner(accounts.signers[0].privateKey) }
        assert.strictEqual(yield* verified(15_001n, { sponsor }), "ok")
        assert.strictEqual(yield* verified(15_000n, { sponsor }), "EXPIRED_PAYMENT expired")
      })
    )

    it.effect("refuses a transaction that the chain does not accept yet", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* verified(86_400_000n), "ok")
        assert.strictEqual(yield* verified(86_400_001n), "unsupported_authorization valid_too_long")
      })
    )

    it.effect("gives no verdict if its node is behind the payer's, and recognises another chain's block", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* referring(1n), "ChainUnavailable")
        assert.strictEqual(yield* referring(19n), "ChainUnavailable")
        assert.strictEqual(yield* referring(20n), "EXPIRED_PAYMENT ref_block_old")
        assert.strictEqual(yield* referring(0n), "ok")
        const { mine } = yield* TronTestChain.TronTestChain
        yield* mine(2)
        assert.strictEqual(yield* referring(-1n), "NETWORK_MISMATCH ref_block")
        assert.strictEqual(yield* referring(-1_000n), "NETWORK_MISMATCH ref_block")
      })
    )
  })
})
