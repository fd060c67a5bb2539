/** Cost of use and abuse for a relayer: its balance before and after, compared with the settings' limits. */
import { assert, describe, layer } from "@effect/vitest"
import type { Payment, SchemeFacilitator } from "@pontage/core"
import { type Address, beginCell, Cell, contractAddress, internal, type StateInit } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { TonAddress, TonAsset, TonNetwork, TonRpc, TonWallet, WalletRequest } from "../../src/index.ts"
import * as TonPrices from "../../src/sending/TonPrices.ts"
import * as TonTariff from "../../src/sending/TonTariff.ts"
import { type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"
import * as SandboxEmulation from "../../src/transfer/SandboxEmulation.ts"
import * as TonConfig from "../TonConfig.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

type Account = TonTestAccounts.TestAccount

const relayerOf = ({ chain }: Trial.Trial) => chain.coins(chain.accounts.relayers[0].address)

const addressOf = ({ code, data }: StateInit): TonAddress.Address =>
  TonAddress.fromHash(contractAddress(0, { code: code ?? null, data: data ?? null }).hash)

/** The most TON that a request may hand on, in an offer's form. */
const offeredBy = ({ extra }: SchemeFacilitator): bigint => {
  const most = extra?.["maxInnerTon"]
  return typeof most === "string" ? BigInt(most) : 0n
}

const sumOf = (amounts: ReadonlyArray<bigint>) => amounts.reduce((sum, amount) => sum + amount, 0n)

/** Balances of accounts in nanotons; 0 for an account that does not exist. */
const ownedBy = (trial: Trial.Trial, addresses: ReadonlyArray<Address>) =>
  Effect.map(Effect.forEach(addresses, trial.chain.coins), sumOf)

interface Forged {
  readonly inner?: Partial<Forgery.Inner>
  readonly transfer?: Partial<Forgery.Transfer>
  readonly mode?: number
}

/** A payload that an account's key may sign. */
const forged = Effect.fnUntraced(function* (
  trial: Trial.Trial,
  account: Account,
  { inner, mode = 64, transfer }: Forged = {},
  init?: StateInit
) {
  const { accounts, jetton, time } = trial.chain
  const responseTo = Forgery.addressOf(accounts.relayers[0].raw)
  const to = Forgery.addressOf(accounts.payee.raw)
  const body = Forgery.transfer({ amount: Trial.amount, to, responseTo, ...transfer })
  const wallet = Forgery.addressOf(jetton.walletOf(account.address).toRawString())
  const message = Forgery.message({ to: wallet, body, ...inner })
  const parts = {
    validUntil: (yield* time) + 50,
    seqno: 0,
    actions: Forgery.actionOf(message, mode),
    seed: account.seed
  }
  return Forgery.payload(account, Forgery.request(parts), init)
})

/** Moves all Jettons of an account to the deployer, by the account's own message. */
const emptied = Effect.fnUntraced(function* (trial: Trial.Trial, account: Account) {
  const { accounts, balanceOf, jetton, send, setCoins } = trial.chain
  yield* setCoins(account.address, 100_000_000n)
  const body = Forgery.transfer({
    amount: yield* balanceOf(account.address),
    to: Forgery.addressOf(accounts.deployer.raw),
    responseTo: undefined
  })
  yield* send(account, internal({ to: jetton.walletOf(account.address), value: 60_000_000n, body }))
})

describe("encodings that a lenient reader accepts and the chain does not", () => {
  layer(TonTestChain.layer({ payers: 12 }), { excludeTestServices: true })((it) => {
    it.effect("cost the relayer nothing and gain the payer nothing", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const attacks: ReadonlyArray<Forged> = [
          { inner: { odd: { ihrFee: Forgery.longCoins(0n, 1) } } },
          { inner: { odd: { forwardFee: Forgery.longCoins(0n, 15) } } },
          { inner: { odd: { value: Forgery.longCoins(0n, 8) } } },
          { mode: 3, inner: { odd: { value: Forgery.longCoins(28_000_000n, 15) } } },
          { transfer: { odd: { amount: Forgery.longCoins(Trial.amount, 15) } } },
          { transfer: { odd: { forward: Forgery.longCoins(0n, 1) } } },
          { transfer: { odd: { to: Forgery.anycast(Forgery.addressOf(chain.accounts.payee.raw)) } } },
          { transfer: { odd: { responseTo: Forgery.anycast(Forgery.addressOf(chain.accounts.relayers[0].raw)) } } }
        ]
        const before = yield* relayerOf(trial)
        const addresses = chain.accounts.payers.map(({ address }) => address)
        const owned = yield* ownedBy(trial, addresses)
        yield* Trial.withService(facilitator, (service) =>
          Effect.forEach(attacks, (attack, index) =>
            Effect.gen(function* () {
              const payer = chain.accounts.payers[index] ?? chain.accounts.payers[0]
              const payload = yield* forged(trial, payer, attack)
              const word = yield* Trial.wordOf(service.settle(Trial.request(trial, payload), Trial.newClaim()))
              assert.match(word, /^unsupported_authorization (inner_message|transfer)$/)
            })
          )
        )
        assert.strictEqual(yield* relayerOf(trial), before)
        assert.strictEqual(yield* ownedBy(trial, addresses), owned)
      })
    )

    it.effect("ban their payer at once where the chain showed them first", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[10] ?? chain.accounts.payers[0]
        const good = yield* Trial.payment(trial, payer)
        const { payload: held } = good
        const body = beginCell().storeUint(7, 32).endCell()
        const to = Forgery.addressOf(chain.jetton.walletOf(payer.address).toRawString())
        const message = Forgery.message({ to, body, odd: { to: Forgery.anycast(to) } })
        const validUntil = (yield* chain.time) + 50
        const parts = { validUntil, seqno: 0, actions: Forgery.actionOf(message), seed: payer.seed }
        const hostile = Forgery.request(parts)
        const request = WalletRequest.read(hostile, false)
        // As a reader would return it that took it for the good one.
        const nonce = Buffer.from(request?.signedHash ?? []).toString("hex")
        const bad = { ...good, payload: { ...(typeof held === "object" ? held : {}), body: hostile, request, nonce } }
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(bad)), "ok")
        const before = yield* relayerOf(trial)
        const { observedPayments, prepared } = yield* Trial.relayed(trial, [bad])
        yield* facilitator.submit(prepared)
        const { observations } = yield* facilitator.observe(observedPayments, [prepared])
        // The wallet has not used the number: for all that the facilitator knows, the request may still be carried out.
        assert.strictEqual(observations[0]?._tag, "Pending")
        assert.isAbove(Number(before - (yield* relayerOf(trial))), 20_000_000)
        const again = yield* Trial.payment(trial, payer)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(again)), "unsupported_authorization account_banned")
      })
    )
  })
})

describe("twenty-five payers with a pending transfer of their Jettons when they are verified", () => {
  layer(TonTestChain.layer({ payers: 32, blocks: "manual" }), { excludeTestServices: true })((it) => {
    it.effect("cost no more than the budget, and an honest payer is still served", () =>
      Effect.gen(function* () {
        const lossBudget = 300_000_000n
        const trial = yield* Trial.make({ lossBudget, lossBudgetPerCaller: lossBudget, lossBudgetPerPayer: lossBudget })
        const { chain, facilitator } = trial
        const [honest, ...gang] = chain.accounts.payers
        const blocks = Effect.replicateEffect(chain.block, 8)
        const settled = (payments: ReadonlyArray<Payment>) =>
          Effect.gen(function* () {
            const { count, observedPayments, prepared } = yield* Trial.relayed(trial, payments)
            yield* facilitator.submit(prepared)
            yield* blocks
            const { observations } = yield* facilitator.observe(observedPayments, [prepared])
            return { count, words: observations.map(({ _tag }) => _tag) }
          })
        const good = yield* Trial.payment(trial, honest)
        assert.deepStrictEqual((yield* settled([good])).words, ["Settled"])
        const before = yield* relayerOf(trial)
        let [tried, hit] = [0, 0]
        for (let round = 0; round < 5; round++) {
          const griefers = gang.slice(round * 5, round * 5 + 5)
          // The wallets have sent the Jettons away, with the next number; the Jetton wallets have not received the message yet.
          yield* Effect.forEach(griefers, (griefer) => emptied(trial, griefer))
          yield* chain.block
          const payments = yield* Effect.forEach(griefers, (griefer) => Trial.payment(trial, griefer))
          tried += payments.length
          const verified: Array<Payment> = []
          for (const payment of payments) {
            const word = yield* Trial.wordOf(facilitator.verify(payment))
            if (word === "ok") verified.push(payment)
            else assert.strictEqual(word, "FacilitatorUnavailable")
          }
          if (verified.length > 0) {
            const { words } = yield* settled(verified)
            assert.isTrue(words.every((word) => word === "Failed"))
            hit += words.length
          } else yield* blocks
        }
        const lost = before - (yield* relayerOf(trial))
        assert.strictEqual(tried, 25)
        assert.isTrue(hit > 3 && hit < 12, `${hit} hit`)
        assert.isTrue(lost > lossBudget / 2n && lost <= lossBudget, `${lost} lost`)
        const newcomer = chain.accounts.payers[30] ?? honest
        const stranger = yield* Trial.payment(trial, newcomer)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(stranger)), "FacilitatorUnavailable")
        const next = yield* Trial.payment(trial, honest)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(next)), "ok")
        assert.deepStrictEqual((yield* settled([next])).words, ["Settled"])
      })
    )

    it.effect("cannot hand on more than x402's amount, nor less than a transfer needs", () =>
      Effect.gen(function* () {
        const { jetton, network } = yield* TonTestChain.TonTestChain
        const assets = [{ network, address: jetton.raw, symbol: jetton.symbol, decimals: jetton.decimals }]
        const trial = yield* Trial.make({ assets })
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[31] ?? chain.accounts.payers[0]
        const offered = offeredBy(facilitator)
        assert.strictEqual(offered, 30_000_000n)
        const rpc = yield* TonRpc.make({ url: chain.rpcUrl, network })
        const prices = TonPrices.read(yield* rpc.config) ?? assert.fail("the local chain has prices")
        const token = trial.clientOf(payer).asset(trial.requirements) ?? assert.fail("the payer knows the asset")
        const needed = TonTariff.make(prices, TonAsset.isKnown, undefined).transfer(token)
        assert.isTrue(needed > 22_500_000n && needed <= offered, `${needed}`)
        const wordOf = (value: bigint) =>
          Effect.flatMap(forged(trial, payer, { mode: 3, inner: { value } }), (payload) =>
            Trial.wordOf(Effect.flatMap(Trial.read(trial, payload), (payment) => facilitator.verify(payment)))
          )
        assert.strictEqual(yield* wordOf(offered + 1n), "unsupported_authorization send_mode")
        assert.strictEqual(yield* wordOf(needed - 1n), "unsupported_authorization too_little_ton")
        assert.strictEqual(yield* wordOf(needed), "ok")
        assert.strictEqual(yield* wordOf(offered), "ok")
      })
    )
  })
})

describe("the attached TON", () => {
  const chains = [
    ["the prices of 2025", TonTestChain.layer({ payers: 6 }), 35_000_000n],
    [
      "a sixth of them",
      Layer.unwrap(Effect.map(TonConfig.cheap, (config) => TonTestChain.layer({ payers: 6, config }))),
      16_000_000n
    ]
  ] as const

  for (const [name, chainLayer, most] of chains) {
    layer(chainLayer, { excludeTestServices: true })((it) => {
      it.effect(`is enough at ${name}, for both tokens and for wallets that are not deployed, and little more`, () =>
        Effect.gen(function* () {
          const { governed, jetton } = yield* TonTestChain.TonTestChain
          for (const token of [jetton, governed]) {
            const trial = yield* Trial.make({
              jetton: token,
              assets: [{ network: "ton:local", address: token.raw, symbol: "X", decimals: 6 }],
              emulation: yield* SandboxEmulation.make()
            })
            const { chain, facilitator } = trial
            for (const account of [chain.accounts.payers[0], chain.accounts.newcomers[token === jetton ? 0 : 1]]) {
              if (account === undefined) return yield* Effect.die("there are enough payers")
              const payment = yield* Trial.payment(trial, account)
              assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "ok")
              const { observedPayments, prepared } = yield* Trial.relayed(trial, [payment])
              yield* facilitator.submit(prepared)
              const { inclusion, observations } = yield* facilitator.observe(observedPayments, [prepared])
              assert.strictEqual(observations[0]?._tag, "Settled")
              assert.isAtMost(Number(inclusion?.cost), Number(prepared.cost))
            }
            const attached = trial.expenses.map((expense) => expense.attached)
            if (token === jetton)
              assert.isTrue(
                attached.every((amount) => amount <= most),
                attached.join()
              )
          }
        })
      )
    })
  }
})

describe("the cost of a prepared transaction", () => {
  layer(TonTestChain.layer({ payers: 52, newcomers: 12 }), { excludeTestServices: true })((it) => {
    it.effect("is a close upper bound of the included cost, for every kind of payment", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make({ batches: { maximum: 255 }, lossBudget: 50_000_000_000n })
        const { chain, facilitator } = trial
        const { newcomers, payers } = chain.accounts
        yield* Effect.forEach(payers, ({ address }) => chain.setCoins(address, 1_000_000_000n))
        const offered = offeredBy(facilitator)
        const relayedOf = (account: Account) => Trial.payment(trial, account)
        const ownOf = (account: Account) => Trial.payment(trial, account, "external")
        const fixedOf = (account: Account) =>
          Effect.flatMap(forged(trial, account, { mode: 3, inner: { value: offered } }), (payload) =>
            Trial.read(trial, payload)
          )
        const shapes: ReadonlyArray<readonly [string, ReadonlyArray<Effect.Effect<Payment, unknown>>]> = [
          ["one", [relayedOf(payers[0])]],
          ["one that deploys", newcomers.slice(0, 1).map(relayedOf)],
          ["one with an amount of its own", payers.slice(1, 2).map(fixedOf)],
          ["the payer's own message", payers.slice(2, 3).map(ownOf)],
          [
            "all kinds",
            [
              ...payers.slice(3, 6).map(relayedOf),
              ...newcomers.slice(1, 4).map(relayedOf),
              ...payers.slice(6, 9).map(fixedOf),
              ...payers.slice(9, 12).map(ownOf)
            ]
          ],
          ["eight that deploy", newcomers.slice(4, 12).map(relayedOf)],
          ["forty", payers.slice(12, 52).map(relayedOf)]
        ]
        for (const [name, making] of shapes) {
          const payments = yield* Effect.forEach(making, (make) => Effect.orDie(make))
          const { count, prepared } = yield* Trial.relayed(trial, payments)
          assert.strictEqual(count, payments.length, name)
          yield* facilitator.submit(prepared)
          const observedPayments = payments.map((payment) => ({ payment, since: prepared.head }))
          const { inclusion, observations } = yield* facilitator.observe(observedPayments, [prepared])
          assert.isTrue(
            observations.every(({ _tag }) => _tag === "Settled"),
            name
          )
          const cost = inclusion?.cost ?? 0n
          assert.isTrue(cost > 0n && cost <= prepared.cost, `${name}: ${prepared.cost} prepared, ${cost} included`)
          assert.isTrue(
            prepared.cost < (cost * 5n) / 4n + 20_000_000n,
            `${name}: ${prepared.cost} prepared, ${cost} included`
          )
        }
      })
    )

    it.effect("holds because only a new wallet of the payer's key is deployed", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [account] = chain.accounts.newcomers
        const walletId = TonNetwork.walletId(TonNetwork.local)
        const { code, data } = TonWallet.w5Init(account.publicKey, walletId)
        let ballast = Cell.EMPTY
        for (let depth = 0; depth < 36; depth++) {
          const filling = beginCell().storeBuffer(Buffer.alloc(100, depth))
          ballast = filling.storeRef(ballast).endCell()
        }
        const own = (data ?? Cell.EMPTY).beginParse()
        const fields = beginCell().storeBits(own.loadBits(321))
        const heavy: ReadonlyArray<Cell> = [
          beginCell()
            .storeSlice((data ?? Cell.EMPTY).beginParse())
            .storeRef(ballast)
            .endCell(),
          beginCell()
            .storeSlice((data ?? Cell.EMPTY).beginParse())
            .storeUint(0, 600)
            .endCell(),
          fields.storeBit(1).storeRef(ballast).endCell()
        ]
        const before = yield* relayerOf(trial)
        for (const [index, one] of heavy.entries()) {
          const init = { code, data: one }
          const raw = TonAddress.toCore(addressOf(init)).toRawString()
          const payload = yield* forged(
            trial,
            { ...account, raw, address: TonAddress.toCore(addressOf(init)) },
            {},
            init
          )
          const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => facilitator.verify(payment))
          const word = index < 2 ? "INVALID_SIGNATURE no_wallet" : "INVALID_SIGNATURE used_wallet"
          assert.strictEqual(yield* Trial.wordOf(verdict), word)
          const extended = yield* Trial.make({ extendedPayers: true })
          const there = Effect.flatMap(Trial.read(extended, payload), (payment) => extended.facilitator.verify(payment))
          assert.match(yield* Trial.wordOf(there), /^INVALID_SIGNATURE (no|used)_wallet$/)
          // The same, deployed by the payer at its own cost: each payment would pay for its storage.
          yield* chain.install({ code: code ?? Cell.EMPTY, data: one }, 0n)
          if (index < 2) assert.strictEqual(yield* Trial.wordOf(verdict), "INVALID_SIGNATURE unknown_wallet")
        }
        assert.strictEqual(yield* relayerOf(trial), before)
      })
    )
  })
})
