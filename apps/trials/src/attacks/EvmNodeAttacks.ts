/**
 * Attacks by nodes as they are rented, and by a clock: events of 50 blocks at once, a receipt from one backend and everything
 * else from another, a machine whose clock jumps.
 */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { Attack } from "./Attack.ts"
import * as CappedNode from "./hostile/CappedNode.ts"
import * as Direct from "./hostile/DirectSettlement.ts"
import * as EvmSigner from "./hostile/EvmSigner.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import * as LaggingPair from "./hostile/LaggingPair.ts"
import * as TokenCall from "./hostile/TokenCall.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

/** Retries of a buyer, a quarter of a second apart at least: its payment ends before them, also on a busy machine. */
const patience = 2_000

/** A buyer's bound payment at a shop whose facilitator asks this node. */
const bought = Effect.fnUntraced(function* (stage: AttackStage, rpcUrl: string) {
  const facilitator = yield* stage.facilitator({
    PONTAGE_EVM_RPC_URL: rpcUrl,
    PONTAGE_EVM_SIGNER_KEY: EvmSigner.of(stage).privateKey,
    PONTAGE_EVM_FINALITY_DEPTH: "1",
    PONTAGE_SETTLE_TIMEOUT_MS: "2000"
  })
  const shop = yield* stage.shop(facilitator.url)
  const url = `${shop.url}/report`
  const offer = yield* HostileCall.offerAt(url)
  const wallet = yield* stage.wallet(2n * BigInt(offer.amount))
  const signed = yield* Effect.promise(() => wallet.sign(offer, String(offer.extra["challenge"])))
  const bring = EvmSigner.sendFirst(stage, { to: BaseSepolia.token, data: TokenCall.of(signed) })
  const headers = HostileWallet.inOurs(signed, offer)
  const buying = Effect.repeat(Effect.andThen(Effect.sleep("250 millis"), HostileCall.send(url, { headers })), {
    while: (reply) => reply.status === 503 || reply.headers.get("retry-after") !== null,
    times: patience
  })
  return { bring, buying, wallet }
})

/** Blocks before and behind the stranger's: more than 50 together, and the payment is still valid then. */
const blocksBeside = 30
const cap = 50n

const cappedLogs: Attack = {
  name: "capped-logs",
  what: `a node answers about the events of ${cap} blocks at once; a stranger brings a bound payment to the chain, in the middle of more blocks`,
  expected: "the transfer is found and counts as the buyer's: one transfer, and the buyer is served",
  targets: ["pontage"],
  mutation: [
    { module: "schemes/evm/src/node/EvmRpc", piece: "foundLogs, EvmNodeError.toTooWide)", instead: "foundLogs)" }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { node } = stage.chain
    const capped = yield* CappedNode.make(node.rpcUrl, cap)
    const { bring, buying, wallet } = yield* bought(stage, capped.url)
    const fiber = yield* EvmSigner.byHand(
      stage,
      Effect.gen(function* () {
        const begun = yield* Effect.forkChild(buying)
        yield* Effect.repeat(EvmSigner.waiting(stage), { until: (count) => count > 0 })
        // The pool forgets the facilitator's transaction: it is sent again when all these blocks are there.
        yield* node.request("anvil_dropAllTransactions")
        yield* node.mine(blocksBeside)
        yield* bring
        yield* node.mine()
        yield* node.mine(blocksBeside)
        return begun
      })
    )
    const reply = yield* Fiber.join(fiber)
    const transfers = yield* stage.chain.spent(wallet.address)
    const isServed = HostileCall.isServed(reply)
    return {
      held: isServed && transfers.length === 1 && capped.refused() > 0,
      seen: `the buyer ${reply.status}, ${transfers.length} transfers, ${capped.refused()} questions refused`,
      attackerCost: "gas of one transaction",
      targetCost: isServed ? "gas of one transaction" : "a buyer's money"
    }
  })
}

const backendsApart: Attack = {
  name: "backends-apart",
  what: "behind one address receipts come from a node that is up to date, states and events from one that is 3 blocks behind, as a stranger brings a bound payment to the chain first",
  expected:
    "the failure of the facilitator's own transaction is told to nobody, and the buyer is served for the one transfer",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/evm/src/evidence/EvmMissingTransfers",
      piece: "Effect.catch(read({ hash: blockHash }), () => read(blockNumber))",
      instead: 'Effect.catch(read("latest"), () => read(blockNumber + blockHash))'
    },
    {
      module: "schemes/evm/src/evidence/EvmObservation",
      piece: "{ observation: pending, failure }",
      instead:
        "{ observation: failure ? EvmTransferEvidence.failed(failure.transaction, failure.error) : pending, failure }"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { node } = stage.chain
    const pair = yield* LaggingPair.make(node.rpcUrl, 3n, ["eth_call", "eth_getLogs"])
    yield* node.mine(4)
    const { bring, buying, wallet } = yield* bought(stage, pair.url)
    const fiber = yield* EvmSigner.byHand(
      stage,
      Effect.gen(function* () {
        const begun = yield* Effect.forkChild(buying)
        yield* Effect.repeat(EvmSigner.waiting(stage), { until: (count) => count > 0 })
        pair.lag()
        yield* bring
        yield* node.mine()
        // During these observations no verdict may be given.
        const before = pair.answered()
        yield* Effect.repeat(
          Effect.andThen(
            Effect.sleep("50 millis"),
            Effect.sync(() => pair.answered())
          ),
          { until: (count) => count >= before + looks, times: 400 }
        )
        yield* node.mine(4)
        pair.lag(false)
        return begun
      })
    )
    const reply = yield* Fiber.join(fiber)
    const transfers = yield* stage.chain.spent(wallet.address)
    const isServed = HostileCall.isServed(reply)
    return {
      held: isServed && transfers.length === 1 && pair.answered() > 0,
      seen: `the buyer ${reply.status}, ${transfers.length} transfers, ${pair.answered()} answers from behind`,
      attackerCost: "gas of one transaction",
      targetCost: isServed ? "gas of one transaction" : "a buyer's money"
    }
  })
}

/** Responses of the lagging backend to wait for. */
const looks = 2

const isSource = import.meta.url.endsWith(".ts")
const clockHook = new URL(`./stage/ClockHook.${isSource ? "ts" : "js"}`, import.meta.url).href
const jumps = [300_000, -300_000, 86_400_000, -86_400_000]

const jumpingClock: Attack = {
  name: "jumping-clock",
  what: "the clock of the facilitator's machine jumps by five minutes and by a day, either way, while good payments come",
  expected:
    "no good payment gets a verdict meanwhile, readiness names the clock, and all of them settle when it is right again",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/facilitator/local/ChainClock",
      piece: "isApart: Math.abs(own - chain) > toleranceSeconds",
      instead: "isApart: Math.abs(own - chain) === -1"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const file = join(mkdtempSync(join(tmpdir(), "pontage-clock-")), "offset")
    const jump = (millis: number) => Effect.sync(() => writeFileSync(file, `${millis}`))
    yield* jump(0)
    const facilitator = yield* stage.facilitator({
      PONTAGE_EVM_SIGNER_KEY: EvmSigner.of(stage).privateKey,
      NODE_OPTIONS: `--import=${clockHook}`,
      CLOCK_FILE: file
    })
    const replies: Array<HostileCall.Reply> = []
    const ends: Array<HostileCall.Reply> = []
    let named = 0
    for (const millis of jumps) {
      const wallet = yield* stage.wallet(BaseSepolia.amount)
      const offer = Direct.evmOffer(stage.victim)
      const signed = yield* Effect.promise(() => wallet.sign(offer))
      const paymentPayload = HostileWallet.envelope(signed, offer)
      const order = { paymentPayload, paymentRequirements: Direct.requirementsOf(offer) }
      yield* jump(millis)
      yield* Effect.sleep("100 millis")
      replies.push(yield* Direct.settle(facilitator.url, stage.victim, order))
      const isNamed = Effect.map(HostileCall.send(`${facilitator.url}/ready`), ({ status, text }) => {
        return status === 503 && text.includes("this machine's clock")
      })
      const looking = Effect.andThen(Effect.sleep("100 millis"), isNamed)
      if (yield* Effect.repeat(looking, { while: (found) => !found, times: 100 })) named++
      yield* jump(0)
      const settled = Direct.settled(facilitator.url, stage.victim, order)
      const patiently = Effect.andThen(Effect.sleep("200 millis"), settled)
      ends.push(yield* Effect.repeat(patiently, { while: ({ status }) => status === 503, times: 100 }))
    }
    const refused = replies.filter(({ status }) => status === 503).length
    return {
      held: refused === jumps.length && named === jumps.length && ends.every(Direct.isSettled),
      seen: `${Direct.countsOf(replies)} while it was wrong, named by readiness ${named} times, then ${Direct.countsOf(ends)}`,
      attackerCost: "nothing",
      targetCost: `${replies.length - refused} verdicts about good payments`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [cappedLogs, backendsApart, jumpingClock]
