/** Hostile payers and tokens on a real virtual machine: the refusals, and the cost of a late one. */
import { assert, describe, layer } from "@effect/vitest"
import { beginCell, Cell, Dictionary } from "@ton/core"
import { Executor } from "@ton/sandbox"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { vi } from "vitest"

import { type TonEmulation, TonMessage, TonNetwork, TonRpc, TonWallet, WalletRequest } from "../../src/index.ts"
import { SwallowingWallet, ToncenterFault, type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"
import * as SandboxEmulation from "../../src/transfer/SandboxEmulation.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

const payerOf = ({ chain }: Trial.Trial) => chain.accounts.payers[0]

const chainLayer = TonTestChain.layer({ payers: 8 })

/** A relayed payment of a payer, made by hand. */
const forged = Effect.fnUntraced(function* (
  trial: Trial.Trial,
  payer: TonTestAccounts.TestAccount,
  {
    inner,
    mode = 64,
    request
  }: {
    readonly inner?: Partial<Forgery.Inner>
    readonly mode?: number
    readonly request?: Partial<Forgery.Request>
  } = {},
  init?: Parameters<typeof Forgery.payload>[2]
) {
  const { accounts, jetton } = trial.chain
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const body = Forgery.transfer({
    amount: Trial.amount,
    to: Forgery.addressOf(accounts.payee.raw),
    responseTo: Forgery.addressOf(accounts.relayers[0].raw)
  })
  const to = Forgery.addressOf(jetton.walletOf(payer.address).toRawString())
  const actions = WalletRequest.actionsOf([{ mode, message: Forgery.message({ to, body, ...inner }) }])
  const parts = { validUntil: now + 50, seqno: 0, actions, seed: payer.seed, ...request }
  return Forgery.payload(payer, Forgery.request(parts), init)
})

describe("a payment is refused by the chain's state where", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    const refused = (
      name: string,
      word: string,
      forge: (trial: Trial.Trial) => Effect.Effect<unknown, never, TonTestChain.TonTestChain>,
      wish?: Trial.Wish
    ) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const trial = yield* Trial.make(wish)
          const payload = yield* forge(trial)
          const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
          assert.strictEqual(yield* Trial.wordOf(verdict), word)
        })
      )
    refused("nothing is wrong", "ok", (trial) => forged(trial, payerOf(trial)))
    refused("another key has signed", "INVALID_SIGNATURE not_signed", (trial) =>
      forged(trial, payerOf(trial), { request: { seed: new Uint8Array(32).fill(7) } })
    )
    refused("the wallet id is of the test network", "NETWORK_MISMATCH other_wallet_network", (trial) =>
      forged(trial, payerOf(trial), { request: { walletId: TonNetwork.walletId(TonNetwork.testnet) } })
    )
    refused("the wallet id is another wallet's", "INVALID_SIGNATURE other_wallet_id", (trial) =>
      forged(trial, payerOf(trial), { request: { walletId: TonNetwork.walletId(TonNetwork.local, 5) } })
    )
    refused("its turn has not come", "EXPIRED_PAYMENT seqno_ahead", (trial) =>
      forged(trial, payerOf(trial), { request: { seqno: 1 } })
    )
    refused("it has expired by the chain's clock", "EXPIRED_PAYMENT expired", (trial) =>
      Effect.flatMap(trial.chain.time, (time) => forged(trial, payerOf(trial), { request: { validUntil: time + 5 } }))
    )
    refused("the Jetton wallet is another account's", "INVALID_RECIPIENT other_jetton_wallet", (trial) => {
      const { accounts, jetton } = trial.chain
      const to = Forgery.addressOf(jetton.walletOf(accounts.deployer.address).toRawString())
      return forged(trial, payerOf(trial), { inner: { to } })
    })
    refused("the Jetton wallet is of another asset", "INVALID_RECIPIENT other_jetton_wallet", (trial) => {
      const to = Forgery.addressOf(trial.chain.governed.walletOf(payerOf(trial).address).toRawString())
      return forged(trial, payerOf(trial), { inner: { to } })
    })
    refused("a fixed amount of TON is too small", "unsupported_authorization too_little_ton", (trial) =>
      forged(trial, payerOf(trial), { mode: 3, inner: { value: 12_000_000n } })
    )
    refused("the payer has nothing", "INSUFFICIENT_BALANCE balance_below_amount", (trial) =>
      forged(trial, trial.chain.accounts.stranger)
    )
    refused("nothing deploys the wallet", "INVALID_SIGNATURE no_wallet", (trial) =>
      forged(trial, trial.chain.accounts.newcomers[0])
    )
    refused("something else is deployed", "INVALID_SIGNATURE no_wallet", (trial) => {
      const { newcomers, payers } = trial.chain.accounts
      return forged(trial, newcomers[0], {}, payers[0].wallet.init)
    })
    refused("the payer is one of the facilitator's own", "malformed payer", (trial) =>
      forged(trial, trial.chain.accounts.relayers[0])
    )

    it.effect("the wallet swallows its messages, with the data of a good one", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const payer = trial.chain.accounts.payers[1] ?? payerOf(trial)
        const { data } = TonWallet.w5Init(payer.publicKey, TonNetwork.walletId(TonNetwork.local))
        const code = Cell.fromBase64(SwallowingWallet.code)
        const address = yield* trial.chain.install({ code, data: data ?? Cell.EMPTY }, 0n)
        const payload = yield* forged(trial, { ...payer, raw: address.toRawString() })
        const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
        assert.strictEqual(yield* Trial.wordOf(verdict), "INVALID_SIGNATURE unknown_wallet")
      })
    )

    for (const [name, isAllowed, dictionary, word] of [
      ["the wallet takes no signatures", false, null, "INVALID_SIGNATURE signature_not_allowed"],
      ["the wallet has extensions", true, beginCell().endCell(), "unsupported_authorization extensions"]
    ] as const) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const trial = yield* Trial.make()
          const payer = trial.chain.accounts.payers[1] ?? payerOf(trial)
          const { code } = payer.wallet.init
          const data = beginCell()
            .storeBit(isAllowed)
            .storeUint(0, 32)
            .storeInt(TonNetwork.walletId(TonNetwork.local), 32)
            .storeBuffer(payer.publicKey)
            .storeMaybeRef(dictionary)
            .endCell()
          const address = yield* trial.chain.install({ code, data }, 0n)
          const payload = yield* forged(trial, { ...payer, raw: address.toRawString() })
          const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => trial.facilitator.verify(payment))
          assert.strictEqual(yield* Trial.wordOf(verdict), word)
        })
      )
    }

    it.effect("the offer sends the unused TON to a stranger", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const responseDestination = trial.chain.accounts.stranger.raw
        const requirements = { ...trial.requirements, extra: { ...trial.facilitator.extra, responseDestination } }
        const payload = yield* Trial.signed({ ...trial, requirements }, payerOf(trial))
        const word = yield* Trial.wordOf(trial.facilitator.read(requirements, payload))
        assert.strictEqual(word, "INVALID_RECIPIENT foreign_response_destination")
      })
    )

    it.effect("the node responds late, with an error, or with another account: that proves nothing", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const payment = yield* Trial.payment(trial, payerOf(trial))
        for (const method of ["getAddressInformation", "runGetMethod"]) {
          for (const fault of [
            ToncenterFault.Broken(),
            ToncenterFault.Garbage(),
            ToncenterFault.Status({ status: 429 }),
            ToncenterFault.Status({ status: 503 }),
            ToncenterFault.Refusing({ message: "LITE_SERVER_NOTREADY" })
          ]) {
            const fresh = yield* Trial.make()
            yield* trial.chain.spoil(method, fault)
            assert.strictEqual(yield* Trial.wordOf(fresh.facilitator.verify(payment)), "ChainUnavailable")
            yield* trial.chain.mend
          }
        }
        assert.strictEqual(yield* Trial.wordOf(trial.facilitator.verify(payment)), "ok")
      })
    )
  })
})

describe("a backend of the node that is behind the others", () => {
  layer(TonTestChain.layer({ payers: 2, blocks: "manual" }), { excludeTestServices: true })((it) => {
    it.effect("proves nothing against a payment, and counts for the state that it has seen", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const { payers, stranger } = chain.accounts
        const blocks = Effect.replicateEffect(chain.block, 4)
        yield* blocks
        yield* chain.mint(stranger.address, Trial.amount)
        yield* blocks
        const payment = yield* Trial.payment(trial, stranger)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "ok")
        for (const method of ["runGetMethod", "getAddressInformation", "*"]) {
          yield* chain.spoil(method, ToncenterFault.Lagging({ blocks: 6 }))
          const word = yield* Trial.wordOf(facilitator.verify(payment))
          assert.strictEqual(word, method === "getAddressInformation" ? "ok" : "ChainUnavailable")
          const known = yield* Trial.payment(trial, payers[0])
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(known)), "ok")
          yield* chain.mend
        }
        const poor = yield* forged(trial, chain.accounts.relayers[1])
        const verdict = Effect.flatMap(Trial.read(trial, poor), (one) => facilitator.verify(one))
        assert.strictEqual(yield* Trial.wordOf(verdict), "INSUFFICIENT_BALANCE balance_below_amount")
        const other = yield* Trial.make()
        yield* chain.spoil("*", ToncenterFault.Lagging({ blocks: 6 }))
        const unaware = yield* Trial.wordOf(other.facilitator.verify(payment))
        assert.notStrictEqual(unaware, "ok")
        yield* chain.mend
      })
    )
  })
})

describe("a backend that is behind an earlier response of the same verification", () => {
  layer(TonTestChain.layer({ payers: 1, blocks: "manual" }), { excludeTestServices: true })((it) => {
    for (const lagging of [["emulated accounts"], ["holdings"], ["payer", "emulated accounts"]]) {
      it.effect(`proves nothing against a payment: ${lagging.join(", ")}`, () =>
        Effect.gen(function* () {
          const { accounts, balanceOf, block, mend, mint, spoil } = yield* TonTestChain.TonTestChain
          const blocks = Effect.replicateEffect(block, 4)
          const lag = ToncenterFault.Lagging({ blocks: 6 })
          yield* blocks
          yield* mint(accounts.stranger.address, Trial.amount)
          yield* blocks
          const held = yield* balanceOf(accounts.stranger.address)
          let isWatched = false
          let step = "payer"
          // No response has shown the newest blocks before the verification.
          yield* spoil("*", lag)
          const trial = yield* Trial.make({
            emulation: yield* SandboxEmulation.make(),
            onRequest: (method) => {
              if (!isWatched) return
              if (method === "runGetMethod") step = "holdings"
              else if (step === "holdings") step = "emulated accounts"
              Effect.runSync(lagging.includes(step) ? spoil("*", lag) : mend)
            }
          })
          const { facilitator } = trial
          const known = yield* Trial.payment(trial, accounts.payers[0])
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(known)), "ok")
          yield* mend
          const wanted = { ...trial, requirements: { ...trial.requirements, maxAmountRequired: `${held}` } }
          const payment = yield* Trial.payment(wanted, accounts.stranger)
          isWatched = true
          const word = yield* Trial.wordOf(facilitator.verify(payment))
          isWatched = false
          assert.strictEqual(step, lagging.includes("holdings") ? "holdings" : "emulated accounts")
          assert.strictEqual(word, "ChainUnavailable")
          yield* mend
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "ok")
        })
      )
    }
  })
})

describe("a token that locks accounts", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("lets neither a locked payer pay nor a locked recipient be paid", () =>
      Effect.gen(function* () {
        const { governed } = yield* TonTestChain.TonTestChain
        const trial = yield* Trial.make({ jetton: governed })
        const { chain, facilitator } = trial
        const { payee, payers } = chain.accounts
        const payment = yield* Trial.payment(trial, payers[0])
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "ok")
        yield* chain.lock(payers[0].address, 1)
        assert.strictEqual(
          yield* Trial.wordOf(facilitator.verify(payment)),
          "unsupported_authorization account_blocked"
        )
        yield* chain.lock(payers[0].address, 0)
        yield* chain.lock(payee.address, 2)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "INVALID_RECIPIENT account_blocked")
        yield* chain.lock(payee.address, 0)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "ok")
      })
    )

    for (const [name, isRecipient, word] of [
      [
        "the recipient after the payment was sent: it fails by proof, and the recipient is not paid",
        true,
        "INVALID_RECIPIENT"
      ],
      [
        "the payer after the payment was sent: it fails by proof, and the payer is banned",
        false,
        "INSUFFICIENT_BALANCE"
      ]
    ] as const) {
      it.effect(`locks ${name}`, () =>
        Effect.gen(function* () {
          const { governed } = yield* TonTestChain.TonTestChain
          const trial = yield* Trial.make({ jetton: governed })
          const { chain, facilitator } = trial
          const { payee, payers } = chain.accounts
          const payer = payers[isRecipient ? 2 : 3] ?? payers[0]
          const payment = yield* Trial.payment(trial, payer)
          yield* facilitator.verify(payment)
          const [lane = ""] = facilitator.lanes
          const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
          const { prepared } = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
          const received = yield* chain.balanceOf(payee.address, governed)
          const held = yield* chain.balanceOf(payer.address, governed)
          yield* chain.lock(isRecipient ? payee.address : payer.address, 3)
          yield* facilitator.submit(prepared)
          const { observations } = yield* facilitator.observe([{ payment, since: prepared.head }], [prepared])
          const [seen] = observations
          assert.strictEqual(seen?._tag === "Failed" && seen.error._tag === "PaymentError" && seen.error.code, word)
          yield* chain.lock(isRecipient ? payee.address : payer.address, 0)
          assert.strictEqual(yield* chain.balanceOf(payee.address, governed), received)
          assert.strictEqual(yield* chain.balanceOf(payer.address, governed), held)
          assert.strictEqual(trial.expenses[0]?.isSettled, false)
          const again = yield* Trial.payment(trial, payer)
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(again)), "unsupported_authorization account_banned")
          const others = yield* Trial.make({ jetton: governed, lossBudget: 1n })
          assert.strictEqual(yield* Trial.wordOf(others.facilitator.verify(again)), "FacilitatorUnavailable")
        })
      )
    }
  })
})

describe("with an emulation", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("a good payment passes, of a payer with a wallet and of one without", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make({ emulation: yield* SandboxEmulation.make() })
        const { newcomers, payers } = trial.chain.accounts
        for (const payer of [payers[0], newcomers[0]]) {
          assert.strictEqual(yield* Trial.wordOf(trial.facilitator.verify(yield* Trial.payment(trial, payer))), "ok")
        }
      })
    )

    it.effect("too little TON is found before any of it is spent", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make({ emulation: yield* SandboxEmulation.make(), attachedTon: 8_000_000n })
        const payment = yield* Trial.payment(trial, trial.chain.accounts.payers[0])
        assert.strictEqual(
          yield* Trial.wordOf(trial.facilitator.verify(payment)),
          "INSUFFICIENT_BALANCE transfer_refused"
        )
        const blind = yield* Trial.make({ attachedTon: 8_000_000n })
        assert.strictEqual(yield* Trial.wordOf(blind.facilitator.verify(payment)), "ok")
      })
    )

    it.effect("a message that no machine can emulate is its payer's fault, and does not affect the next payment", () =>
      Effect.gen(function* () {
        const machine = yield* SandboxEmulation.make()
        const trial = yield* Trial.make()
        const { chain } = trial
        const payer = chain.accounts.payers[1] ?? payerOf(trial)
        const to = Forgery.addressOf(chain.jetton.walletOf(payer.address).toRawString())
        const body = beginCell().storeUint(7, 32).endCell()
        const message = Forgery.message({ to, body, odd: { ihrFee: Forgery.longCoins(0n, 1) } })
        const parts = {
          validUntil: (yield* chain.time) + 50,
          seqno: 0,
          actions: Forgery.actionOf(message),
          seed: payer.seed
        }
        const odd = TonMessage.internal(Forgery.addressOf(payer.raw), 50_000_000n, Forgery.request(parts))
        let isOdd = true
        const seen: Array<string> = []
        const emulation: TonEmulation = (scene) =>
          Effect.tapError(machine(isOdd ? { ...scene, message: odd } : scene), ({ _tag }) =>
            Effect.sync(() => seen.push(_tag))
          )
        const { facilitator } = yield* Trial.make({ emulation })
        for (let time = 0; time < 3; time++) {
          const payment = yield* Trial.payment(trial, payer)
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "unsupported_authorization not_playable")
        }
        assert.deepStrictEqual(seen, ["EmulationFailed", "EmulationFailed", "EmulationFailed"])
        isOdd = false
        const fourth = yield* Trial.payment(trial, payer)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(fourth)), "unsupported_authorization account_banned")
        const others = yield* Trial.payment(trial, chain.accounts.payers[2] ?? payerOf(trial))
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(others)), "ok")
      })
    )

    it.effect("a machine that has thrown is replaced", () =>
      Effect.gen(function* () {
        const create = vi.spyOn(Executor, "create")
        const machine = yield* SandboxEmulation.make()
        const trial = yield* Trial.make({ emulation: machine })
        const rpc = yield* TonRpc.make({ url: trial.chain.rpcUrl, network: "ton:local" })
        const config = yield* rpc.config
        const { payers, relayers } = trial.chain.accounts
        const [payer] = payers
        const account = yield* rpc.account(Forgery.addressOf(payer.raw))
        const to = Forgery.addressOf(trial.chain.jetton.walletOf(payer.address).toRawString())
        const bad = Forgery.message({ to, body: Cell.EMPTY, odd: { ihrFee: Forgery.longCoins(0n, 1) } })
        const parts = { validUntil: account.head.time + 50, seqno: 0, actions: Forgery.actionOf(bad), seed: payer.seed }
        const scene = {
          network: "ton:local",
          config,
          from: Forgery.addressOf(relayers[0].raw),
          message: TonMessage.internal(Forgery.addressOf(payer.raw), 50_000_000n, Forgery.request(parts)),
          accounts: [[Forgery.addressOf(payer.raw), account]],
          time: account.head.time
        } as const
        const before = create.mock.calls.length
        for (let time = 1; time <= 3; time++) {
          assert.strictEqual((yield* Effect.flip(machine(scene)))._tag, "EmulationFailed")
          // One to try the message again, and one for a control message.
          assert.strictEqual(create.mock.calls.length, before + 2 * time)
        }
        assert.strictEqual(yield* Trial.wordOf(trial.facilitator.verify(yield* Trial.payment(trial, payer))), "ok")
        assert.strictEqual(create.mock.calls.length, before + 6)
        create.mockRestore()
      })
    )

    it.effect("a machine that cannot run proves nothing", () =>
      Effect.gen(function* () {
        const machine = yield* SandboxEmulation.make()
        const empty = Dictionary.empty(Dictionary.Keys.Int(32), Dictionary.Values.Cell()).set(0, Cell.EMPTY)
        const config = beginCell().storeDictDirect(empty).endCell()
        const trial = yield* Trial.make({ emulation: (scene) => machine({ ...scene, config }) })
        const payment = yield* Trial.payment(trial, trial.chain.accounts.payers[0])
        assert.strictEqual(yield* Trial.wordOf(trial.facilitator.verify(payment)), "ChainUnavailable")
      })
    )
  })
})
