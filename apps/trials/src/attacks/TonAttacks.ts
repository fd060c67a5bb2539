/**
 * Attacks on the coin of a relayer on TON: requests in encodings that a lenient reader takes and the chain does not, and
 * wallets whose Jettons are already on their way to another wallet when they are checked.
 */
import type { TonTestAccounts, TonTestChain } from "@pontage/ton/testing"
import { internal } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { Attack } from "./Attack.ts"
import * as Direct from "./hostile/DirectSettlement.ts"
import * as HostileTonWallet from "./hostile/HostileTonWallet.ts"
import * as TonStage from "./stage/TonStage.ts"

type Account = TonTestAccounts.TestAccount
type Odd = NonNullable<HostileTonWallet.Order["odd"]>

const payloadOf = Effect.fnUntraced(function* (
  chain: TonTestChain.Shape,
  payer: Account,
  { odd = {}, seqno = 0 }: { readonly odd?: Odd; readonly seqno?: number } = {}
) {
  const { accounts, jetton } = chain
  return HostileTonWallet.payload(payer, {
    to: jetton.walletOf(payer.address),
    amount: TonStage.amount,
    payTo: accounts.payee.address,
    responseTo: accounts.relayers[0].address,
    validUntil: (yield* chain.time) + 50,
    seqno,
    odd
  })
})

const sumOf = (amounts: ReadonlyArray<bigint>) => amounts.reduce((sum, one) => sum + one, 0n)

const { anycast, longCoins } = HostileTonWallet

const oddities = ({ accounts: { payee, relayers } }: TonTestChain.Shape): ReadonlyArray<Odd> => [
  { ihrFee: longCoins(0n, 1) },
  { forwardFee: longCoins(0n, 15) },
  { value: longCoins(0n, 8) },
  { amount: longCoins(TonStage.amount, 15) },
  { forward: longCoins(0n, 1) },
  { payTo: anycast(payee.address) },
  { responseTo: anycast(relayers[0].address) }
]

const hostileEncodings: Attack = {
  name: "hostile-encodings",
  what: "TON payers sign transfers with over-long numbers and anycast addresses, which no machine of the chain sends on",
  expected: "each is refused as it is read, the relayer's balance does not move, and an honest payer is served",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/ton/src/primitives/TonMessage",
      piece: "write(message, { isInitApart: init.isApart, isBodyApart }).equals(cell) ? message",
      instead: "write !== null ? message"
    },
    {
      module: "schemes/ton/src/transfer/JettonTransfer",
      piece: "if (toCell(transfer).equals(body))",
      instead: "if (transfer !== null)"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { chain, relayersBalance, settle } = yield* TonStage.make(stage, {}, { PONTAGE_TON_EMULATION: "false" })
    const [honest, ...gang] = chain.accounts.payers
    const owned = Effect.map(
      Effect.forEach(gang, ({ address }) => chain.coins(address)),
      sumOf
    )
    const before = { relayer: yield* relayersBalance, gang: yield* owned }
    const tried = oddities(chain).flatMap((odd, index) => {
      const payer = gang[index]
      return payer === undefined ? [] : [{ payer, odd }]
    })
    const replies = yield* Effect.forEach(
      tried,
      ({ odd, payer }) => Effect.flatMap(payloadOf(chain, payer, { odd }), (payload) => settle(stage.mallory, payload)),
      { concurrency: "unbounded" }
    )
    const lost = before.relayer - (yield* relayersBalance)
    const won = (yield* owned) - before.gang
    const honestly = yield* settle(stage.victim, yield* payloadOf(chain, honest))
    const isRefused = replies.every((reply) => ["inner_message", "transfer"].includes(Direct.wordOf(reply)))
    return {
      held: isRefused && lost === 0n && won === 0n && Direct.isSettled(honestly),
      seen: `${Direct.countsOf(replies)}; an honest payer ${Direct.wordOf(honestly)}`,
      attackerCost: `${-won} nanotons`,
      targetCost: `${lost} nanotons of the relayer's`
    }
  })
}

const gangSize = 10
/** Of all payers; those of one caller may lose a half, however many callers share it. */
const lossBudget = 320_000_000n

/** The account's own message moves all its Jettons to the deployer; the next block has the account send it. */
const emptied = Effect.fnUntraced(function* (chain: TonTestChain.Shape, payer: Account) {
  const { accounts, balanceOf, jetton, send, setCoins } = chain
  yield* setCoins(payer.address, 100_000_000n)
  const amount = yield* balanceOf(payer.address)
  const body = HostileTonWallet.transfer({ amount, payTo: accounts.deployer.address, responseTo: null })
  yield* send(payer, internal({ to: jetton.walletOf(payer.address), value: 60_000_000n, body }))
})

/** Makes blocks as long as this has not ended. */
const withBlocks = Effect.fnUntraced(function* <A, E>(
  { block, setBlocks }: TonTestChain.Shape,
  isReady: Effect.Effect<boolean>,
  effect: Effect.Effect<A, E>
) {
  const fiber = yield* Effect.forkChild(effect)
  yield* Effect.repeat(Effect.andThen(Effect.sleep("10 millis"), isReady), { until: (ready) => ready })
  yield* Effect.andThen(block, setBlocks("instant"))
  return yield* Fiber.join(fiber)
})

const jettonsSentAway: Attack = {
  name: "jettons-sent-away",
  what: `${gangSize} TON payers have sent their Jettons away, which their Jetton wallets do not know yet when they are checked`,
  expected: "the relayer loses no more than one caller may, and an honest payer of another is served afterwards",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/ton/src/sending/TonLosses",
      piece: "{ ...partyOf(payment), amount }, until",
      instead: "{ ...partyOf(payment), amount: 0n }, until"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { chain, relayersBalance, settle } = yield* TonStage.make(
      stage,
      { payers: gangSize + 1 },
      {
        PONTAGE_TON_LOSS_BUDGET_NANOTON: `${lossBudget}`,
        PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON: `${lossBudget / 2n}`,
        PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON: `${lossBudget / 2n}`,
        PONTAGE_TON_BATCH_WINDOW_MS: "500",
        PONTAGE_SETTLE_TIMEOUT_MS: "60000"
      }
    )
    const [honest, ...gang] = chain.accounts.payers
    const before = yield* relayersBalance
    yield* chain.setBlocks("manual")
    yield* Effect.forEach(gang, (payer) => emptied(chain, payer))
    yield* chain.block
    const payloads = yield* Effect.forEach(gang, (payer) => payloadOf(chain, payer, { seqno: 1 }))
    let answered = 0
    const bringing = Effect.forEach(
      payloads,
      (payload) => Effect.tap(settle(stage.mallory, payload), () => Effect.sync(() => answered++)),
      { concurrency: "unbounded" }
    )
    const isSent = Effect.map(
      chain.calls,
      (calls) => answered === gangSize || [...calls].some(([name, count]) => name.startsWith("sendBoc") && count > 0)
    )
    const replies = yield* withBlocks(chain, isSent, bringing)
    const lost = before - (yield* relayersBalance)
    const honestly = yield* settle(stage.victim, yield* payloadOf(chain, honest))
    const taken = replies.filter(Direct.isSettled).length
    return {
      held: lost > 0n && lost <= lossBudget / 2n && taken === 0 && Direct.isSettled(honestly),
      seen: `${Direct.countsOf(replies)}; an honest payer of another ${Direct.wordOf(honestly)}`,
      attackerCost: "gas of its own transfers",
      targetCost: `${lost} nanotons of ${lossBudget / 2n} that one caller may lose`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [hostileEncodings, jettonsSentAway]
