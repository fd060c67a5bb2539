/**
 * Payments of x402's mechanism for TON on a real virtual machine: accepted in each of its forms, paid once whatever the form,
 * refused where they would cost the relayer, and signed by our client for its offers.
 */
import { assert, describe, layer } from "@effect/vitest"
import type { Payment, PaymentRequirements } from "@pontage/core"
import * as Network from "@pontage/core/Network"
import type { StateInit } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"

import { ExactTon, TonAuthorization, TonBoc } from "../../src/index.ts"
import { ToncenterFault, type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"
import * as SandboxEmulation from "../../src/transfer/SandboxEmulation.ts"
import * as TonConfig from "../TonConfig.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

type Account = TonTestAccounts.TestAccount
type Requirements = PaymentRequirements.PaymentRequirements

/** Nanotons that x402's clients began with. */
const usual = 30_000_000n

interface Wish {
  readonly mode?: number
  readonly value?: bigint
  readonly transfer?: Partial<Forgery.Transfer>
  readonly request?: Partial<Forgery.Request>
  readonly asset?: string
  readonly init?: StateInit
}

/** The signed request of a client of x402: a fixed amount of TON, mode 1, query id 0. */
const requestOf = Effect.fnUntraced(function* (trial: Trial.Trial, payer: Account, wish: Wish = {}) {
  const { accounts, jetton } = trial.chain
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const body = Forgery.transfer({
    amount: Trial.amount,
    queryId: 0n,
    to: Forgery.addressOf(accounts.payee.raw),
    responseTo: Forgery.addressOf(accounts.relayers[0].raw),
    payload: Forgery.emptyPayloads["one zero bit"],
    ...wish.transfer
  })
  const to = Forgery.addressOf(jetton.walletOf(payer.address).toRawString())
  const message = Forgery.message({ to, value: wish.value ?? usual, body })
  const actions = Forgery.actionOf(message, wish.mode ?? 1)
  return Forgery.request({ validUntil: now + 50, seqno: 0, actions, seed: payer.seed, ...wish.request })
})

/** A payload of x402. */
const payloadOf = (trial: Trial.Trial, payer: Account, { asset, init, ...wish }: Wish = {}) =>
  Effect.map(requestOf(trial, payer, wish), (body) =>
    Forgery.settlementPayload(payer, asset ?? trial.chain.jetton.raw, body, init === undefined ? {} : { init })
  )

const settle = (trial: Trial.Trial, payload: unknown) =>
  Trial.withService(trial.facilitator, (service) => service.settle(Trial.request(trial, payload), Trial.newClaim()))

const payerAt = (trial: Trial.Trial, index: number): Account =>
  trial.chain.accounts.payers[index] ?? trial.chain.accounts.payers[0]

describe("a payment of x402", () => {
  layer(TonTestChain.layer({ payers: 12 }), { excludeTestServices: true })((it) => {
    let used = 0
    for (const mode of [1, 3]) {
      for (const [name, payload] of Object.entries(Forgery.emptyPayloads)) {
        const index = used++
        it.effect(`moves the Jettons, with mode ${mode} and as its empty forward payload ${name}`, () =>
          Effect.gen(function* () {
            const trial = yield* Trial.make()
            const { chain } = trial
            const { payee } = chain.accounts
            const payer = payerAt(trial, index)
            yield* chain.setCoins(payer.address, 50_000_000n)
            const before = yield* chain.balanceOf(payee.address)
            const settled = yield* settle(trial, yield* payloadOf(trial, payer, { mode, transfer: { payload } }))
            assert.isTrue(Trial.isSettled(settled))
            assert.strictEqual(settled.payer, payer.raw)
            assert.strictEqual(yield* chain.balanceOf(payee.address), before + Trial.amount)
            const kept = (yield* chain.coins(payer.address)) - 50_000_000n
            assert.isTrue(kept >= 0n && kept < 5_000_000n, `the payer's wallet keeps ${kept} nanotons`)
            const [expense] = trial.expenses
            const cost = (expense?.attached ?? 0n) + (expense?.fees ?? 0n) - (expense?.returned ?? 0n)
            assert.isTrue(cost > 0n && cost < 40_000_000n, `${cost} nanotons`)
          })
        )
      }
    }

    it.effect("deploys the wallet of a payer who has none", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain } = trial
        const [newcomer] = chain.accounts.newcomers
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const settled = yield* settle(trial, yield* payloadOf(trial, newcomer, { init: newcomer.wallet.init }))
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("is paid once and executed once, however often and in whichever form it comes", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain } = trial
        const payer = payerAt(trial, used++)
        const body = yield* requestOf(trial, payer)
        const theirs = Forgery.settlementPayload(payer, chain.jetton.raw, body)
        const forms = [theirs, Forgery.payload(payer, body)]
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const sentBefore = yield* Trial.externals(chain.accounts.relayers[0])
        const all = yield* Trial.withService(trial.facilitator, (service) =>
          Effect.forEach(
            Array.from({ length: 16 }, (_, index) => forms[index % 2]),
            (payload) => service.settle(Trial.request(trial, payload), Trial.newClaim()),
            { concurrency: "unbounded" }
          )
        )
        assert.strictEqual(all.filter(({ execution }) => execution === "granted").length, 1)
        assert.strictEqual(new Set(all.map(({ paymentId }) => paymentId)).size, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
        assert.strictEqual(yield* Trial.externals(chain.accounts.relayers[0]), sentBefore + 1)
        for (const payload of forms) {
          const again = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
          assert.strictEqual(yield* Trial.wordOf(again), "already_used seqno_consumed")
        }
      })
    )
  })
})

describe("a payment of x402 is refused where", () => {
  layer(TonTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    const refused = (
      name: string,
      word: string,
      wish: (trial: Trial.Trial) => Wish,
      extra?: Readonly<Record<string, Schema.Json>>
    ) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const { requirements, ...others } = yield* Trial.make()
          const terms: Requirements = extra === undefined ? requirements : { ...requirements, extra }
          const trial = { ...others, requirements: terms }
          const payload = yield* payloadOf(trial, payerAt(trial, 0), wish(trial))
          const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
          assert.strictEqual(yield* Trial.wordOf(verdict), word)
        })
      )
    refused("nothing is wrong", "ok", () => ({}))
    refused("the payload is in another asset", "asset_mismatch payload_asset", ({ chain }) => ({
      asset: chain.governed.raw
    }))
    refused("the payload's asset is no address", "asset_mismatch payload_asset", () => ({ asset: "USDT" }))
    refused("the unused TON goes to the payer", "INVALID_RECIPIENT other_response_destination", (trial) => ({
      transfer: { responseTo: Forgery.addressOf(payerAt(trial, 0).raw) }
    }))
    refused("the unused TON goes to no account", "INVALID_RECIPIENT other_response_destination", () => ({
      transfer: { responseTo: undefined }
    }))
    refused(
      "the offer names no account for the unused TON",
      "INVALID_RECIPIENT other_response_destination",
      () => ({ transfer: { responseTo: undefined } }),
      { areFeesSponsored: true }
    )
    refused(
      "the offer forwards TON",
      "unsupported_authorization forwarding",
      () => ({ transfer: { forward: 50_000_000n } }),
      { areFeesSponsored: true, forwardTonAmount: "50000000" }
    )
    refused("the offer sponsors nothing", "unsupported_authorization forwarding", () => ({}), {
      areFeesSponsored: false
    })
    refused("TON is forwarded", "unsupported_authorization transfer", () => ({ transfer: { forward: 1n } }))
    refused("it hands on more TON than is attached", "unsupported_authorization send_mode", () => ({
      value: 50_000_001n
    }))
    refused("it hands on too little", "unsupported_authorization too_little_ton", () => ({ value: 5_000_000n }))
    refused("it hands on all TON", "unsupported_authorization send_mode", () => ({ mode: 128, value: 0n }))
    refused("it is signed by another key", "INVALID_SIGNATURE not_signed", () => ({
      request: { seed: new Uint8Array(32).fill(9) }
    }))
    refused("its number is ahead", "EXPIRED_PAYMENT seqno_ahead", () => ({ request: { seqno: 1 } }))
    refused("it goes to another recipient", "ok", ({ chain }) => ({
      transfer: { to: Forgery.addressOf(chain.accounts.stranger.raw) }
    }))

    it.effect("its amount or recipient is not the offer's, by the check that all schemes share", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const payer = payerAt(trial, 1)
        const { stranger } = trial.chain.accounts
        for (const [transfer, word] of [
          [{ amount: Trial.amount - 1n }, "amount_mismatch other_amount"],
          [{ amount: Trial.amount + 1n }, "amount_mismatch other_amount"],
          [{ to: Forgery.addressOf(stranger.raw) }, "INVALID_RECIPIENT other_recipient"]
        ] as const) {
          const payload = yield* payloadOf(trial, payer, { transfer })
          assert.strictEqual(yield* Trial.wordOf(settle(trial, payload)), word)
        }
        const late = yield* payloadOf(trial, payer, { request: { validUntil: 4_000_000_000 } })
        assert.strictEqual(yield* Trial.wordOf(settle(trial, late)), "unsupported_authorization valid_too_long")
      })
    )

    it.effect("an emulation finds too little TON; it accepts less than the tariff's safe amount", () =>
      Effect.gen(function* () {
        const blind = yield* Trial.make()
        const trial = yield* Trial.make({ emulation: yield* SandboxEmulation.make() })
        const payer = payerAt(trial, 2)
        const enough = yield* payloadOf(trial, payer, { value: 25_000_000n })
        const few = yield* payloadOf(trial, payer, { value: 12_000_000n })
        const verdictOf = ({ facilitator }: Trial.Trial, payload: unknown) =>
          Trial.wordOf(Effect.flatMap(Trial.read(trial, payload), (payment) => facilitator.verify(payment)))
        assert.strictEqual(yield* verdictOf(blind, enough), "unsupported_authorization too_little_ton")
        const payment = yield* Trial.read(blind, enough)
        const { message } = yield* Effect.flip(blind.facilitator.verify(payment))
        assert.match(
          message,
          /^the request hands on 25000000 nanotons, and \d+ are safe for a transfer; this facilitator has/
        )
        assert.strictEqual(yield* verdictOf(trial, few), "INSUFFICIENT_BALANCE transfer_refused")
        assert.strictEqual(yield* verdictOf(trial, enough), "ok")
        assert.isTrue(Trial.isSettled(yield* settle(trial, enough)))
      })
    )
  })
})

describe("a wallet whose action fails", () => {
  layer(TonTestChain.layer({ payers: 7 }), { excludeTestServices: true })((it) => {
    /** A facilitator that believes in prices of the past, and attaches too little for the wallet's own fees. */
    const misledBy = Effect.fnUntraced(function* (onRequest: (method: string) => void) {
      const { spoil } = yield* TonTestChain.TonTestChain
      const bytes = (yield* TonConfig.cheap).toBoc().toString("base64")
      const result = { "@type": "configInfo", config: { "@type": "tvm.cell", bytes } }
      yield* spoil("getConfigAll", ToncenterFault.Instead({ result }))
      return yield* Trial.make({ onRequest })
    })
    const misled = misledBy(() => undefined)
    const relayedOf = Effect.fnUntraced(function* (trial: Trial.Trial, payment: Payment) {
      const { prepared } = yield* Trial.sent(trial, [payment])
      const observed = { payment, since: prepared.head }
      const observe = Effect.map(trial.facilitator.observe([observed], [prepared]), ({ observations }) => {
        const [first] = observations
        return first?._tag ?? assert.fail("each payment is observed")
      })
      return { observed, observe }
    })

    it.effect("with mode 1 leaves the payment open while its request is valid, and its payer banned", () =>
      Effect.gen(function* () {
        const trial = yield* misled
        const { chain, facilitator } = trial
        const { payee, stranger } = chain.accounts
        const payer = payerAt(trial, 0)
        const payload = yield* payloadOf(trial, payer)
        const payment = yield* Trial.read(trial, payload)
        yield* facilitator.verify(payment)
        const { observe, observed } = yield* relayedOf(trial, payment)
        assert.strictEqual(yield* observe, "Pending")
        assert.strictEqual(yield* chain.balanceOf(payee.address), 0n)
        const [expense] = trial.expenses
        assert.strictEqual(expense?.isSettled, false)
        const lost = (expense?.attached ?? 0n) + (expense?.fees ?? 0n) - (expense?.returned ?? 0n)
        assert.isAbove(Number(lost), 30_000_000)
        const other = yield* Trial.read(trial, yield* payloadOf(trial, payer, { mode: 3 }))
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(other)), "unsupported_authorization account_banned")
        assert.strictEqual((yield* facilitator.conclude(observed))._tag, "Pending")
        // The request is still valid: with enough TON of a stranger it pays the recipient, once.
        yield* chain.send(stranger, Trial.carried(payload.settlementBoc, 200_000_000n))
        assert.strictEqual(yield* chain.balanceOf(payee.address), Trial.amount)
        assert.strictEqual(yield* observe, "Settled")
        assert.strictEqual(trial.expenses.length, 1)
        const again = yield* Trial.read(trial, payload)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(again)), "unsupported_authorization account_banned")
      })
    )

    it.effect("with mode 1 holds no other payer up: the relayer goes on while the payment is open", () =>
      Effect.gen(function* () {
        const trial = yield* misled
        const { chain, facilitator } = trial
        const [hostile, honest] = [payerAt(trial, 3), payerAt(trial, 4)]
        yield* chain.setCoins(honest.address, 1_000_000_000n)
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const payload = yield* payloadOf(trial, hostile)
        const good = yield* payloadOf(trial, honest)
        const settled = yield* Trial.withService(facilitator, (service) =>
          Effect.gen(function* () {
            yield* Effect.forkChild(service.settle(Trial.request(trial, payload), Trial.newClaim()))
            yield* Effect.repeat(
              Effect.sync(() => trial.expenses.length),
              { until: (count) => count > 0, schedule: Schedule.spaced("10 millis") }
            )
            return yield* service.settle(Trial.request(trial, good), Trial.newClaim())
          })
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("with mode 1 costs the node no more reads of its transaction, however often that is looked at", () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const trial = yield* misledBy((method) => void asked.push(method))
        const { chain, facilitator } = trial
        const honest = payerAt(trial, 6)
        yield* chain.setCoins(honest.address, 1_000_000_000n)
        const payments = yield* Effect.forEach([payerAt(trial, 5), honest], (payer) =>
          Effect.flatMap(payloadOf(trial, payer), (payload) => Trial.read(trial, payload))
        )
        yield* Effect.forEach(payments, (payment) => facilitator.verify(payment))
        const { prepared } = yield* Trial.sent(trial, payments)
        const observed = payments.map((payment) => ({ payment, since: prepared.head }))
        const observe = Effect.map(facilitator.observe(observed, [prepared]), ({ observations }) =>
          observations.map(({ _tag }) => _tag)
        )
        assert.deepStrictEqual(
          [yield* observe, yield* observe],
          [
            ["Pending", "Settled"],
            ["Pending", "Settled"]
          ]
        )
        asked.length = 0
        for (let look = 0; look < 60; look++) assert.deepStrictEqual(yield* observe, ["Pending", "Settled"])
        // Left is the account of the payer whose payment is open, after ever longer pauses.
        assert.deepStrictEqual([...new Set(asked)], ["getAddressInformation"])
      })
    )

    it.effect("with mode 1 ends the payment as unused after its validity", () =>
      Effect.gen(function* () {
        const trial = yield* misled
        const { chain, facilitator } = trial
        const payment = yield* Trial.read(trial, yield* payloadOf(trial, payerAt(trial, 1)))
        yield* facilitator.verify(payment)
        const { observe, observed } = yield* relayedOf(trial, payment)
        assert.strictEqual(yield* observe, "Pending")
        yield* chain.setTime((yield* chain.time) + 120)
        yield* chain.block
        assert.strictEqual((yield* facilitator.conclude(observed))._tag, "Unused")
      })
    )

    it.effect("with mode 3 has used its number, so the payment has failed", () =>
      Effect.gen(function* () {
        const trial = yield* misled
        const { chain, facilitator } = trial
        const time = yield* chain.time
        const payload = yield* payloadOf(trial, payerAt(trial, 2), { mode: 3, request: { validUntil: time + 50 } })
        const payment = yield* Trial.read(trial, payload)
        yield* facilitator.verify(payment)
        const { observe } = yield* relayedOf(trial, payment)
        assert.strictEqual(yield* observe, "Failed")
        assert.strictEqual(trial.expenses[0]?.isSettled, false)
      })
    )
  })
})

describe("our client at an offer of x402", () => {
  layer(TonTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    const sign = Effect.fnUntraced(function* (
      { clientOf, requirements }: Trial.Trial,
      payer: Account,
      extra: Readonly<Record<string, Schema.Json>>
    ) {
      const offer: Requirements = { ...requirements, network: Network.make("tvm:-217"), extra }
      const client = clientOf(payer)
      const asset = client.asset(offer) ?? assert.fail("the payer knows the asset")
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const order = { requirements: offer, asset, validAfter: 0, validBefore: now + 60, binding: undefined }
      return { offer, objection: client.objection?.(offer, asset), signed: yield* Effect.result(client.sign(order)) }
    })

    it.effect("signs x402's payload: mode 3, 0.03 TON, the account of the offer, one zero bit forwarded", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain } = trial
        const payer = payerAt(trial, 0)
        const relayer = chain.accounts.relayers[0].raw
        const extra = { areFeesSponsored: true, responseDestination: relayer, forwardTonAmount: "0" }
        const { objection, offer, signed } = yield* sign(trial, payer, extra)
        assert.isUndefined(objection)
        const { nonce, payload } = Result.getOrThrow(signed)
        assert.hasAllKeys(payload, ["settlementBoc", "asset"])
        const message = yield* ExactTon.decodePayload(payload)
        const terms = ExactTon.termsOf(offer) ?? assert.fail("the offer is readable")
        const read = Result.getOrThrow(TonAuthorization.read(message, terms))
        assert.strictEqual(message.asset, chain.jetton.raw)
        assert.strictEqual(read.nonce, nonce)
        assert.strictEqual(read.request.mode, 3)
        assert.strictEqual(read.value, usual)
        assert.strictEqual(read.transfer.emptyPayload, "zero-bit")
        assert.strictEqual(read.transfer.responseTo, relayer)
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        assert.isTrue(Trial.isSettled(yield* settle(trial, payload)))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("signs without an account for the unused TON where the offer names none", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { offer, signed } = yield* sign(trial, payerAt(trial, 1), { areFeesSponsored: true })
        const { payload } = Result.getOrThrow(signed)
        const message = yield* ExactTon.decodePayload(payload)
        const terms = ExactTon.termsOf(offer) ?? assert.fail("the offer is readable")
        assert.isUndefined(Result.getOrThrow(TonAuthorization.read(message, terms)).transfer.responseTo)
        assert.strictEqual(TonBoc.fromBase64(message.boc)?.refs.length, 1)
      })
    )

    for (const extra of [
      { areFeesSponsored: false },
      { areFeesSponsored: true, forwardTonAmount: "5000000000" },
      { areFeesSponsored: true, forwardPayload: "te6cckEBAQEABgAACAAAAAdEcdLk" }
    ]) {
      it.effect(`signs nothing for an offer with ${JSON.stringify(extra)}`, () =>
        Effect.gen(function* () {
          const trial = yield* Trial.make()
          const { objection, signed } = yield* sign(trial, payerAt(trial, 2), extra)
          assert.match(objection ?? "", /which this client does not sign/)
          assert.isTrue(Result.isFailure(signed))
        })
      )
    }
  })
})
