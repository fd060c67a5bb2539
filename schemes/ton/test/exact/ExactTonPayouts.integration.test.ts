/** Payments of an operator on a TON chain: its wallet makes them one after the other, and each once. */
import { assert, describe, it, layer } from "@effect/vitest"
import type { Push } from "@pontage/core"
import { PayoutLaws } from "@pontage/core/testing"
import { Cell, internal, loadMessageRelaxed } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { exactTon, JettonTransfer, TonAddress } from "../../src/index.ts"
import { type TestJetton, type TonTestAccounts, ToncenterFault, TonTestChain } from "../../src/testing/index.ts"

const amount = 10_000n
/** More than a payment is valid for, in seconds. */
const validity = 400

interface Options {
  readonly isNew?: boolean
  readonly blocks?: TonTestChain.Options["blocks"]
  readonly jetton?: (chain: TonTestChain.Shape) => TestJetton.TestJetton
}

/** The operator itself moves all its Jettons away, by the next number of its wallet. */
const spending = Effect.fnUntraced(function* (
  chain: TonTestChain.Shape,
  signer: TonTestAccounts.TestAccount,
  jetton: TestJetton.TestJetton
) {
  const to = TonAddress.fromCore(chain.accounts.deployer.address)
  if (to === undefined) return
  yield* chain.setCoins(signer.address, 1_000_000_000n)
  const all = yield* chain.balanceOf(signer.address, jetton)
  const body = JettonTransfer.toCell({ queryId: 7n, amount: all, to, responseTo: to })
  yield* chain.send(signer, internal({ to: jetton.walletOf(signer.address), value: 100_000_000n, body }))
})

/** An operator's account, and a facilitator that relays its payments. */
const opening = Effect.fnUntraced(function* ({ blocks, isNew = false, jetton: jettonOf }: Options = {}) {
  const chain = yield* TonTestChain.make({ payers: 1, newcomers: 1, veterans: 0, ...(blocks && { blocks }) })
  const { accounts, network, rpcUrl } = chain
  const jetton = jettonOf?.(chain) ?? chain.jetton
  const assets = [chain.jetton, chain.governed].map(({ decimals, raw, symbol }) => ({
    network,
    address: raw,
    symbol,
    decimals
  }))
  const signer: TonTestAccounts.TestAccount = isNew ? accounts.newcomers[0] : accounts.payers[0]
  const [relayer] = accounts.relayers
  const payoutsBy = () => exactTon.payouts({ signer, relayer: relayer.raw, rpcUrl, network, assets })
  const payouts = payoutsBy()
  const asset = payouts.asset(jetton.symbol)
  if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
  yield* payouts.prove(asset)
  const facilitator = yield* exactTon.facilitator({ signer: relayer, rpcUrl, network, assets })
  const recipient = accounts.payee.raw
  const later = (seconds: number) => Effect.flatMap(chain.time, (time) => chain.setTime(time + seconds))
  const trial: PayoutLaws.PayoutTrial = {
    payouts,
    facilitator,
    recipient,
    received: chain.balanceOf(accounts.payee.address, jetton),
    include: Effect.void,
    finalise: Effect.andThen(later(1), Effect.asVoid(chain.block)),
    expire: Effect.andThen(later(validity), Effect.asVoid(chain.block)),
    losing: (submission) =>
      Effect.acquireUseRelease(
        chain.spoil("sendBoc", ToncenterFault.Dropped()),
        () => submission,
        () => chain.mend
      ),
    impoverish: spending(chain, signer, jetton),
    whileDown: (effect) =>
      Effect.acquireUseRelease(
        chain.spoil("*", ToncenterFault.Broken()),
        () => effect,
        () => chain.mend
      )
  }
  return { chain, asset, signer, payoutsBy, trial }
})

const opened = (options?: Options) => Effect.orDie(opening(options))

type Opened = Effect.Success<ReturnType<typeof opened>>

const signingOf = ({ asset, trial: { payouts, recipient } }: Opened) => payouts.sign({ asset, recipient, amount })

const signed = (market: Opened) =>
  Effect.flatMap(signingOf(market), (signing) =>
    signing._tag === "Signed" ? Effect.succeed(signing.push) : Effect.die(new Error(signing.reason))
  )

/** Prepares a push in the relayer's next slot, and returns how it is submitted. */
const prepared = Effect.fnUntraced(function* ({ trial: { facilitator } }: Opened, { payload, requirements }: Push) {
  const extra = { ...requirements.extra, delivers: "pay_of_a_shop" }
  const payment = yield* facilitator.read({ ...requirements, extra }, payload)
  const [lane = ""] = facilitator.lanes
  const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
  const preparation = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
  return facilitator.submit(preparation.prepared)
})

const made = (market: Opened, push: Push) => Effect.flatten(prepared(market, push))

/** A stranger, who has read the request in a message of the relayer, carries it to the wallet with this much TON. */
const carried = Effect.fnUntraced(function* ({ chain, signer }: Opened, { payload }: Push, value: bigint) {
  const { boc } = payload as { readonly boc: string }
  const { body } = loadMessageRelaxed(Cell.fromBase64(boc).beginParse())
  yield* chain.send(chain.accounts.stranger, internal({ to: signer.address, value, body }))
})

/** The node's own words about an account. */
const informationOf = (chain: TonTestChain.Shape, address: string) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ id: "1", jsonrpc: "2.0", method: "getAddressInformation", params: { address } })
    const headers = { "content-type": "application/json" }
    const response = await fetch(chain.rpcUrl, { method: "POST", headers, body })
    const { result } = (await response.json()) as { readonly result: { readonly sync_utime: number } }
    return result
  })

/** The state in the second of two looks, between which there is a block. */
const stateOf = Effect.fnUntraced(function* ({ trial: { finalise, payouts } }: Opened, push: Push) {
  yield* payouts.observe(push)
  yield* finalise
  return yield* payouts.observe(push)
})

describe("the laws of an operator's payments, kept by exactTon.payouts", () => {
  const trials = Layer.succeed(
    PayoutLaws.Subject,
    Effect.map(opened(), ({ trial }) => trial)
  )
  layer(trials, { excludeTestServices: true })((it) => {
    for (const law of PayoutLaws.all) it.effect(law.name, () => law.effect)
  })
})

describe("exactTon.payouts", () => {
  it.live("pays from a wallet that is not deployed yet and holds no TON", () =>
    Effect.gen(function* () {
      const market = yield* opened({ isNew: true })
      const push = yield* signed(market)
      yield* made(market, push)
      assert.deepInclude(yield* market.trial.payouts.observe(push), { _tag: "Delivered", amount, final: false })
      assert.deepInclude(yield* stateOf(market, push), { _tag: "Delivered", amount, final: true })
      assert.strictEqual(yield* market.trial.received, amount)
      assert.isBelow(Number(yield* market.chain.coins(market.signer.address)), 1_000_000)
      const next = yield* signed(market)
      yield* made(market, next)
      assert.strictEqual((yield* market.trial.payouts.observe(next))._tag, "Delivered")
    }).pipe(Effect.scoped)
  )

  it.live("makes one payment at a time, and lets the next one begin as soon as the last one is credited", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const push = yield* signed(market)
      for (let asked = 0; asked < 3; asked++) assert.strictEqual((yield* signingOf(market))._tag, "Waiting")
      yield* made(market, push)
      const next = yield* signed(market)
      assert.strictEqual((yield* signingOf(market))._tag, "Waiting")
      yield* made(market, next)
      assert.strictEqual((yield* market.trial.payouts.observe(push))._tag, "Delivered")
      assert.strictEqual((yield* market.trial.payouts.observe(next))._tag, "Delivered")
      assert.strictEqual(yield* market.trial.received, 2n * amount)
    }).pipe(Effect.scoped)
  )

  it.live("waits for the payment on record after a restart, once it has seen it", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const push = yield* signed(market)
      const { asset, trial } = market
      const payouts = market.payoutsBy()
      assert.strictEqual((yield* payouts.observe(push))._tag, "Open")
      const signing = yield* payouts.sign({ asset, recipient: trial.recipient, amount })
      assert.strictEqual(signing._tag, "Waiting")
    }).pipe(Effect.scoped)
  )

  it.live("has one of two payments made that two processes sign with one number, and the other one signed anew", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const { asset, trial } = market
      const { facilitator, payouts, received, recipient } = trial
      const first = yield* signed(market)
      const other = yield* market.payoutsBy().sign({ asset, recipient, amount: 3n * amount })
      if (other._tag !== "Signed") return yield* Effect.die(new Error(other.reason))
      yield* made(market, first)
      const late = yield* Effect.flip(
        Effect.flatMap(facilitator.read(other.push.requirements, other.push.payload), (payment) =>
          facilitator.verify(payment)
        )
      )
      assert.strictEqual("detail" in late ? late.detail : late._tag, "seqno_consumed")
      assert.strictEqual((yield* payouts.observe(first))._tag, "Delivered")
      assert.deepStrictEqual(yield* stateOf(market, other.push), { _tag: "Over", isUnsent: true })
      assert.strictEqual(yield* received, amount)
      const again = yield* signed(market)
      yield* made(market, again)
      assert.strictEqual(yield* received, 2n * amount)
    }).pipe(Effect.scoped)
  )

  it.live.each([5_000_000n, 12_000_000n, 20_000_000n])(
    "is made by its relayer after a stranger has carried it to the wallet with %d nanotons, too few for it",
    (value) =>
      Effect.gen(function* () {
        const market = yield* opened()
        const push = yield* signed(market)
        const submit = yield* prepared(market, push)
        yield* carried(market, push, value)
        assert.strictEqual((yield* stateOf(market, push))._tag, "Open")
        yield* submit
        assert.deepInclude(yield* stateOf(market, push), { _tag: "Delivered", amount })
        assert.strictEqual(yield* market.trial.received, amount)
      }).pipe(Effect.scoped)
  )

  it.live("is over at once where the operator itself has used the wallet's number", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const push = yield* signed(market)
      yield* market.trial.impoverish
      assert.deepStrictEqual(yield* stateOf(market, push), { _tag: "Over", isUnsent: true })
      const signing = yield* signingOf(market)
      assert.include(signing._tag === "Refused" ? signing.reason : signing._tag, "holds 0, the payment is of")
    }).pipe(Effect.scoped)
  )

  it.live("is open while its money is between two Jetton wallets", () =>
    Effect.gen(function* () {
      const market = yield* opened({ blocks: "manual" })
      const { chain, trial } = market
      const push = yield* signed(market)
      yield* made(market, push)
      const seen: Array<string> = []
      for (let blocks = 0; blocks < 6; blocks++) {
        yield* chain.block
        const { _tag } = yield* trial.payouts.observe(push)
        if (seen.at(-1) !== _tag) seen.push(_tag)
        assert.strictEqual(_tag === "Delivered", (yield* trial.received) > 0n)
      }
      assert.deepStrictEqual(seen, ["Open", "Delivered"])
    }).pipe(Effect.scoped)
  )

  it.live.each(["payer", "recipient"] as const)(
    "is over, with its fees lost, where the token locks the %s on the way; and is signed anew once it does not",
    (party) =>
      Effect.gen(function* () {
        const market = yield* opened({ jetton: ({ governed }) => governed })
        const { asset, chain, signer, trial } = market
        const locked = party === "payer" ? signer.address : chain.accounts.payee.address
        const push = yield* signed(market)
        const submit = yield* prepared(market, push)
        const before = yield* chain.balanceOf(signer.address, chain.governed)
        yield* chain.lock(locked, party === "payer" ? 1 : 2)
        yield* submit
        assert.deepStrictEqual(yield* stateOf(market, push), { _tag: "Over", isUnsent: false })
        assert.strictEqual(yield* trial.received, 0n)
        assert.strictEqual(yield* trial.payouts.balance(asset), before)
        const signing = yield* signingOf(market)
        assert.include(signing._tag === "Refused" ? signing.reason : signing._tag, "the token locks")
        yield* chain.lock(locked, 0)
        // A buyer would be banned for it. A shop is owed this payment, so its payer is not.
        yield* made(market, yield* signed(market))
        assert.strictEqual(yield* trial.received, amount)
      }).pipe(Effect.scoped)
  )

  it.live("says nothing while a node shows no wallet that has paid before", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const { chain, trial } = market
      yield* made(market, yield* signed(market))
      const push = yield* signed(market)
      const told = yield* informationOf(chain, chain.accounts.stranger.raw)
      const result = { ...told, state: "uninitialized", code: "", data: "", sync_utime: told.sync_utime + validity }
      yield* chain.spoil("getAddressInformation", ToncenterFault.Instead({ result }))
      const failure = yield* Effect.flip(stateOf(market, push))
      assert.include(failure.message, "shows no wallet")
      yield* chain.mend
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open")
    }).pipe(Effect.scoped)
  )

  it.live("is not over by one response of a node that shows a later time than the chain's", () =>
    Effect.gen(function* () {
      const market = yield* opened()
      const { chain, signer, trial } = market
      const push = yield* signed(market)
      const told = yield* informationOf(chain, signer.raw)
      const result = { ...told, sync_utime: told.sync_utime + validity }
      yield* chain.spoil("getAddressInformation", ToncenterFault.Instead({ result }), 1)
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open")
      yield* trial.finalise
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open")
      const before = yield* chain.head
      yield* made(market, push)
      // A backend that lags shows the wallet before the payment, however many blocks there were meanwhile.
      yield* chain.setBlocks("manual")
      const blocks = (yield* chain.head).seqno - before.seqno
      yield* chain.spoil("*", ToncenterFault.Lagging({ blocks }))
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open")
      yield* chain.mend
      yield* chain.setBlocks("instant")
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Delivered")
    }).pipe(Effect.scoped)
  )
})
