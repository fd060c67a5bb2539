/**
 * The ledger in memory as a chain of the simulation: blocks come by the one time, and each process asks nodes of its own, which
 * lag, forget, or are gone.
 */
import type { ChainUnavailable, SchemeClient, SchemeFacilitator, SlotCount } from "@pontage/core"
import { ChainUnavailable as Unavailable, invalid } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"

import type { NetworkLink } from "./NetworkLink.ts"
import type {
  ChainConfiguration,
  ChainSurroundings,
  ChainTrouble,
  ChainTruth,
  SimulatedChain,
  TrueTransfer
} from "./SimulatedChain.ts"
import * as SimulatedLedgerNode from "./SimulatedLedgerNode.ts"

/** How a ledger is to be. */
export interface Options {
  readonly blockMillis: number
  readonly finality: number
  readonly nodes: number
  readonly signers: number
  readonly capacity: number
  /** The scheme facilitator that a mutation wraps. */
  readonly broken: (scheme: SchemeFacilitator, lagging: SchemeFacilitator) => SchemeFacilitator
}

/** The account that is paid. */
export const payee = "acct-shop"

/** A ledger whose blocks have begun to come. */
export const make = (surroundings: ChainSurroundings, options: Options): SimulatedChain => {
  const { time } = surroundings
  const ledger = TestLedger.make()
  ledger.faults.holdBlocks = true
  ledger.finality = options.finality
  const nodes = Array.from({ length: options.nodes }, () => SimulatedLedgerNode.make())
  const signers = Array.from({ length: options.signers }, (_, place) => `signer-${place + 1}`)
  const tellers: Array<(submission: { readonly bytes: string; readonly process: string }) => void> = []
  const truth = truthOf(ledger)
  const weather = { heldUntil: 0, dearUntil: 0, calmBase: ledger.market.base }
  const mine = () => {
    const now = time.now()
    ledger.tick(Math.floor(now / 1000))
    if (now >= weather.dearUntil) ledger.market.base = weather.calmBase
    if (now >= weather.heldUntil) ledger.mine()
    truth.note()
    time.after(options.blockMillis, "a block", mine)
  }
  ledger.tick(Math.floor(time.now() / 1000))
  for (let depth = 0; depth <= options.finality; depth++) ledger.mine()
  time.after(options.blockMillis, "a block", mine)

  const facilitatorOf = (
    link: NetworkLink,
    { assets, batch, nodes: asked, signers: chosen }: ChainConfiguration
  ): SchemeFacilitator => {
    const node = nodes[asked[0] ?? 0] ?? SimulatedLedgerNode.make()
    const terms = {
      lanes: [...new Set(chosen.flatMap((place) => signers[place % signers.length] ?? []))],
      capacity: options.capacity,
      ...(batch > 1 && { batches: { maximum: batch, windowMillis: 40 } })
    }
    const view = SimulatedLedgerNode.view(ledger, node, time)
    const honest = taking(assets, TestScheme.facilitator(view, terms))
    const other = taking(assets, TestScheme.facilitator(SimulatedLedgerNode.behind(ledger, 2), terms))
    const asking = askedOver(options.broken(honest, other), link, node, time)
    return {
      ...asking,
      submit: (prepared) =>
        Effect.suspend(() => {
          const { bytes } = prepared
          return asking.submit(prepared, () => {
            for (const teller of tellers) teller({ bytes, process: link.process })
          })
        })
    }
  }

  return {
    network: TestScheme.network,
    signers,
    nodes: options.nodes,
    promises: false,
    payee,
    assets: [TestScheme.asset.address, second.address],
    keyOf: ({ nonce, payer }) => `${payer} ${nonce}`,
    deposit: (buyer, amount) => ledger.deposit(payerOf(buyer), amount),
    payer: payerOf,
    client: (buyer) => withSecond(TestScheme.client(payerOf(buyer))),
    server: () => TestScheme.server(ledger),
    facilitator: (link, configuration) => Effect.sync(() => facilitatorOf(link, configuration)),
    bring: (trouble) => bring({ ledger, nodes, signers, time, truth, weather }, trouble),
    calm: () => {
      weather.heldUntil = 0
      weather.dearUntil = 0
      for (const node of nodes) SimulatedLedgerNode.mend(node)
    },
    onSubmit: (told) => void tellers.push(told),
    truth
  }
}

const payerOf = (buyer: number): string => `acct-buyer-${buyer}`

/** A token that counts like the first one: the ledger's accounts hold one kind of money. */
const second = { ...TestScheme.asset, address: "acct-second", symbol: "TSEC", dollar: false }

const withSecond = (client: SchemeClient): SchemeClient => ({
  ...client,
  asset: (requirements) => (requirements.asset === second.address ? second : client.asset(requirements))
})

/** A scheme facilitator that takes only the first `assets` assets and can still read payments in the others. */
const taking = (assets: number, scheme: SchemeFacilitator): SchemeFacilitator =>
  assets > 1
    ? scheme
    : {
        ...scheme,
        recall: scheme.read,
        read: (requirements, payload) =>
          Effect.flatMap(scheme.read(requirements, payload), (payment) =>
            payment.authorization.asset === second.address
              ? Effect.fail(invalid("asset_mismatch", "not_configured", `${second.address} is not taken here`))
              : Effect.succeed(payment)
          )
      }

type Notify = () => void

/** Each question to the chain is one exchange with a node. */
const askedOver = (
  scheme: SchemeFacilitator,
  link: NetworkLink,
  node: SimulatedLedgerNode.SimulatedLedgerNode,
  time: { now: () => number }
) => {
  const exitOf = Effect.runSyncExitWith(link.context)
  const over = <A, E>(what: string, effect: Effect.Effect<A, E>, notify: Notify = () => undefined) =>
    Effect.matchEffect(
      link.exchange(`chain.${what}`, (): Exit.Exit<A, E> | undefined => {
        if (SimulatedLedgerNode.isDown(node, time.now())) return undefined
        notify()
        const exit = exitOf(effect)
        return SimulatedLedgerNode.isMute(node, time.now()) ? undefined : exit
      }),
      {
        onFailure: () => Effect.fail(unavailable(`no answer to ${what}`)),
        onSuccess: (exit): Effect.Effect<A, E | ChainUnavailable> =>
          exit ?? Effect.fail(unavailable(`no answer to ${what}`))
      }
    )
  return {
    ...scheme,
    verify: (payment: Parameters<SchemeFacilitator["verify"]>[0]) => over("verify", scheme.verify(payment)),
    balance: (payment: Parameters<SchemeFacilitator["balance"]>[0]) => over("balance", scheme.balance(payment)),
    nextSlot: (lane: string, counting: SlotCount) => over("nextSlot", scheme.nextSlot(lane, counting)),
    chainHead: over("chainHead", scheme.chainHead),
    isCanonical: (block: Parameters<SchemeFacilitator["isCanonical"]>[0]) =>
      over("isCanonical", scheme.isCanonical(block)),
    submit: (prepared: Parameters<SchemeFacilitator["submit"]>[0], notify?: Notify) =>
      over("submit", scheme.submit(prepared), notify),
    observe: (
      observedPayments: Parameters<SchemeFacilitator["observe"]>[0],
      attempts: Parameters<SchemeFacilitator["observe"]>[1]
    ) => over("observe", scheme.observe(observedPayments, attempts)),
    conclude: (observedPayment: Parameters<SchemeFacilitator["conclude"]>[0]) =>
      over("conclude", scheme.conclude(observedPayment)),
    signers: over("signers", scheme.signers)
  }
}

const unavailable = (message: string) => new Unavailable({ network: TestScheme.network, message })

const placeOf = ({ hash, number, time }: ReturnType<TestLedger.TestLedger["head"]>) => ({ hash, number, time })

/** The truth, and a memory of every transfer that any branch has ever held. */
const truthOf = (ledger: TestLedger.TestLedger): ChainTruth & { readonly note: () => void } => {
  const shown = new Set<string>()
  const strangers = new Set<string>()
  const refused = new Set<string>()
  let seen = 0
  const transferOf = (order: TestLedger.LedgerOrder): TrueTransfer | undefined => {
    const use = ledger.useOf(order)
    if (use?.paid !== true) return undefined
    return {
      key: `${order.payer} ${order.nonce}`,
      payTo: order.payTo,
      amount: order.amount,
      transaction: use.transaction,
      block: use.block,
      isStrangers: use.transaction.startsWith("stranger/")
    }
  }
  const transfers = () => ledger.transfers.flatMap((order) => transferOf(order) ?? [])
  return {
    head: () => placeOf(ledger.head()),
    final: () => placeOf(ledger.final()),
    transfers,
    transferOf: (key) => transfers().find((one) => one.key === key),
    wasShown: (key, { hash }) => shown.has(`${key} ${hash}`),
    wasEverShown: (key) => shown.has(key),
    wasStrangers: (key) => strangers.has(key),
    mayHaveFailed: (key) => refused.has(key),
    balanceOf: ledger.balanceOf,
    costs: () => {
      const ids = new Set(ledger.submissions.map(({ id }) => id))
      return [...ids].reduce((sum, id) => sum + (ledger.receipt(id)?.cost ?? 0n), 0n)
    },
    note: () => {
      for (const { block, isStrangers, key } of transfers()) {
        shown.add(key).add(`${key} ${block.hash}`)
        if (isStrangers) strangers.add(key)
      }
      for (const order of refusedSince(ledger, seen)) refused.add(`${order.payer} ${order.nonce}`)
      seen = Math.max(0, ledger.submissions.length - mostWaiting)
    }
  }
}

/** No more submissions than this wait for their block. */
const mostWaiting = 300

/** The payments that the newest submissions' transactions have carried to a block in vain. */
const refusedSince = (ledger: TestLedger.TestLedger, first: number): ReadonlyArray<TestLedger.LedgerOrder> =>
  ledger.submissions.slice(first).flatMap(({ id, orders }) => {
    const receipt = ledger.receipt(id)
    return receipt === undefined ? [] : orders.filter((_, place) => receipt.paid[place] === false)
  })

interface Works {
  readonly ledger: TestLedger.TestLedger
  readonly nodes: ReadonlyArray<SimulatedLedgerNode.SimulatedLedgerNode>
  readonly signers: ReadonlyArray<string>
  readonly time: { readonly now: () => number }
  readonly truth: { readonly note: () => void }
  readonly weather: { heldUntil: number; dearUntil: number; calmBase: bigint }
}

const bring = (works: Works, trouble: ChainTrouble): void => {
  const { ledger, nodes, signers, time, truth, weather } = works
  const now = time.now()
  const nodeOf = (place: number): SimulatedLedgerNode.SimulatedLedgerNode | undefined => nodes[place % nodes.length]
  ledger.tick(Math.floor(now / 1000))
  switch (trouble._tag) {
    case "Reorganise":
      return reorganise(ledger, Math.min(trouble.depth, ledger.finality - 1), trouble.keepsPool)
    case "PoolEmptied":
      return ledger.emptyPool()
    case "BlocksHeld":
      weather.heldUntil = Math.max(weather.heldUntil, now + trouble.millis)
      return
    case "Dear":
      weather.dearUntil = now + trouble.millis
      ledger.market.base = weather.calmBase * BigInt(trouble.times)
      return
    case "Dearer":
      weather.calmBase *= BigInt(trouble.times)
      ledger.market.base = weather.calmBase
      return
    case "SlotUsedByStranger": {
      const signer = signers[trouble.signer % signers.length]
      if (signer !== undefined) ledger.useSlot(signer)
      return
    }
    case "SettledByStranger": {
      const open = ledger.submissions.flatMap(({ orders }) => orders).find((order) => ledger.useOf(order) === undefined)
      if (open !== undefined) ledger.settleByStranger(open)
      return truth.note()
    }
    case "PayerEmpties":
      return
    case "NodeDown":
    case "NodeLags":
    case "ResponsesLost":
    case "SendsDropped": {
      const node = nodeOf(trouble.node)
      if (node !== undefined) SimulatedLedgerNode.trouble(node, trouble, now)
    }
  }
}

/** Transactions of the blocks may return to the pool, as on real nodes. */
const reorganise = (ledger: TestLedger.TestLedger, depth: number, keepsPool: boolean): void => {
  const before = new Map(ledger.submissions.map((one) => [one.id, one]))
  const mined = [...before.values()].filter(({ id }) => ledger.receipt(id) !== undefined)
  ledger.reorganise(depth)
  if (!keepsPool) return
  for (const one of mined) if (ledger.receipt(one.id) === undefined) ledger.submit(one)
}
