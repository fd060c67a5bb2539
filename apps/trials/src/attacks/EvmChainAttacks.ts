/**
 * Attacks through the chain: a node behind the other nodes, and payments that a third party submits.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { Attack } from "./Attack.ts"
import * as Direct from "./hostile/DirectSettlement.ts"
import * as EvmSigner from "./hostile/EvmSigner.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import * as LaggingPair from "./hostile/LaggingPair.ts"
import * as TokenCall from "./hostile/TokenCall.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

const lagBlocks = 8n
const goodPayments = 6

/** A payment of a wallet to the victim, through to its end. */
const paid = Effect.fnUntraced(function* ({ victim }: AttackStage, url: string, wallet: HostileWallet.HostileWallet) {
  const offer = Direct.evmOffer(victim)
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  const order = {
    paymentPayload: HostileWallet.envelope(signed, offer),
    paymentRequirements: Direct.requirementsOf(offer)
  }
  return yield* Effect.repeat(Direct.settled(url, victim, order), { while: ({ status }) => status === 503, times: 40 })
})

const laggingNode: Attack = {
  name: "lagging-node",
  what: `half of the responses come from a node that is ${lagBlocks} blocks behind, as payers pay who have had their money for fewer`,
  expected: "no good payment is refused for its balance, and each of them is settled",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/evm/src/transfer/TransferSimulation",
      piece: 'first !== undefined && first._tag !== "Reverted"',
      instead: "first !== undefined"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { node } = stage.chain
    const pair = yield* LaggingPair.make(node.rpcUrl, lagBlocks)
    const facilitator = yield* stage.facilitator({
      PONTAGE_EVM_RPC_URL: pair.url,
      PONTAGE_EVM_SIGNER_KEY: EvmSigner.of(stage).privateKey
    })
    yield* node.mine(Number(lagBlocks))
    const wallets = yield* Effect.forEach(Array.from({ length: goodPayments }), () => stage.wallet(BaseSepolia.amount))
    // A payment that is settled has shown the facilitator a block in which all of them have their money.
    const [first, ...others] = wallets
    if (first === undefined) return yield* Effect.die(new Error("there is a wallet"))
    const before = yield* paid(stage, facilitator.url, first)
    pair.lag()
    const replies = yield* Effect.forEach(others, (wallet) => paid(stage, facilitator.url, wallet))
    const spent = yield* Effect.forEach(wallets, ({ address }) => stage.chain.spent(address))
    const transfers = spent.flat().length
    return {
      held: [before, ...replies].every(Direct.isSettled) && transfers === goodPayments && pair.answered() > 0,
      seen: `${Direct.countsOf([before, ...replies])}; ${transfers} transfers, ${pair.answered()} answers from behind`,
      attackerCost: "nothing",
      targetCost: `${goodPayments - transfers} good payments`
    }
  })
}

/** Two facilitators with records of their own, each with a shop of the victim's. */
const twoHouses = (stage: AttackStage) =>
  Effect.forEach([2, 3] as const, (place) =>
    Effect.gen(function* () {
      const facilitator = yield* stage.facilitator({ PONTAGE_EVM_SIGNER_KEY: EvmSigner.of(stage, place).privateKey })
      return yield* stage.shop(facilitator.url)
    })
  )

/** Shows a payment at shops, and once each of them has it in the pool, does this and lets a block come. */
const shownAt = Effect.fnUntraced(function* (
  stage: AttackStage,
  urls: ReadonlyArray<string>,
  headers: HostileWallet.PayingHeaders,
  meanwhile: Effect.Effect<void>
) {
  const showing = Effect.gen(function* () {
    let answered = 0
    const fibers = yield* Effect.forEach(urls, (url) =>
      Effect.forkChild(Effect.tap(HostileCall.patiently(url, headers), () => Effect.sync(() => answered++)))
    )
    yield* Effect.repeat(EvmSigner.waiting(stage), { until: (count) => count + answered >= urls.length })
    yield* meanwhile
    yield* stage.chain.node.mine()
    return fibers
  })
  const fibers = yield* EvmSigner.byHand(stage, showing)
  return yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
})

const statusesOf = (replies: ReadonlyArray<HostileCall.Reply>) => replies.map(({ status }) => status).join(", ")

const twoFacilitators: Attack = {
  name: "two-facilitators",
  what: "an unbound payment is shown at two shops of one payee whose facilitators have records of their own; another is brought to the chain by the payer first",
  expected: "one transfer and one run of the first; one transfer and no run of the second",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/facilitator/lane/ChainView",
      piece: "isOthers && payment.authorization.binding === undefined && !wasSettled",
      instead: "isOthers && payment === null && !wasSettled"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shops = yield* twoHouses(stage)
    const urls = shops.map(({ url }) => `${url}/report`)
    const offer = yield* HostileCall.offerAt(urls[0] ?? "")
    const wallet = yield* stage.wallet(2n * BigInt(offer.amount))
    const shown = Effect.fnUntraced(function* (isBrought: boolean) {
      const signed = yield* Effect.promise(() => wallet.sign(offer))
      const bring = EvmSigner.sendFirst(stage, { to: BaseSepolia.token, data: TokenCall.of(signed) })
      const headers = HostileWallet.inX402(signed, offer)
      return yield* shownAt(stage, urls, headers, isBrought ? bring : Effect.void)
    })
    const atBoth = yield* shown(false)
    const brought = yield* shown(true)
    const transfers = (yield* stage.chain.spent(wallet.address)).length
    const [runs, runsOfBrought] = [atBoth, brought].map((replies) => replies.filter(HostileCall.isServed).length)
    return {
      held: runs === 1 && runsOfBrought === 0 && transfers === 2,
      seen: `${statusesOf(atBoth)}, then ${statusesOf(brought)}: ${runs} and ${runsOfBrought} runs, ${transfers} transfers`,
      attackerCost: `${2n * BigInt(offer.amount)} units`,
      targetCost: `${(runs ?? 0) + (runsOfBrought ?? 0)} runs`
    }
  })
}

const boundByStranger: Attack = {
  name: "bound-payment-brought-by-a-stranger",
  what: "a stranger takes an honest buyer's bound payment from the pool and brings it to the chain first",
  expected: "it counts as the buyer's: one transfer, and the buyer is served",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/facilitator/lane/ChainView",
      piece: "isOthers && payment.authorization.binding === undefined && !wasSettled",
      instead: "isOthers && !wasSettled"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const facilitator = yield* stage.facilitator({ PONTAGE_EVM_SIGNER_KEY: EvmSigner.of(stage).privateKey })
    const shop = yield* stage.shop(facilitator.url)
    const url = `${shop.url}/report`
    const offer = yield* HostileCall.offerAt(url)
    const challenge = String(offer.extra["challenge"])
    const wallet = yield* stage.wallet(BigInt(offer.amount))
    const signed = yield* Effect.promise(() => wallet.sign(offer, challenge))
    const before = yield* EvmSigner.strangersBalance(stage)
    const bring = EvmSigner.sendFirst(stage, { to: BaseSepolia.token, data: TokenCall.of(signed) })
    const [reply] = yield* shownAt(stage, [url], HostileWallet.inOurs(signed, offer), bring)
    const spent = before - (yield* EvmSigner.strangersBalance(stage))
    const transfers = yield* stage.chain.spent(wallet.address)
    const isServed = reply !== undefined && HostileCall.isServed(reply)
    return {
      held: isServed && transfers.length === 1,
      seen: `the buyer ${reply?.status}, ${transfers.length} transfers`,
      attackerCost: `${spent} wei`,
      targetCost: isServed ? "gas of one transaction" : "a buyer's money"
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [laggingNode, twoFacilitators, boundByStranger]
