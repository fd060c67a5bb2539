/**
 * The world of a trial: a chain of its own, a place for the records, facilitators, buyers, and a journal of what they saw.
 * At the end it waits for what is under way, and has everything audited.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import { ReservedPort } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as Audit from "../audit/Audit.ts"
import * as ChainFacts from "../audit/ChainFacts.ts"
import * as CrossingAudit from "../audit/CrossingAudit.ts"
import * as PaymentBooks from "../audit/PaymentBooks.ts"
import type { Testimony } from "../audit/PaymentStory.ts"
import * as TrialJournal from "../audit/TrialJournal.ts"
import type { OnwardLeg } from "../routes/OnwardLeg.ts"
import type * as TrialExecutor from "../routes/TrialExecutor.ts"
import * as TrialInventory from "../routes/TrialInventory.ts"
import * as TrialRoutes from "../routes/TrialRoutes.ts"
import * as ChainRpc from "./ChainRpc.ts"
import * as FacilitatorLife from "./FacilitatorLife.ts"
import * as TrialAccounts from "./TrialAccounts.ts"
import * as TrialCaller from "./TrialCaller.ts"
import * as TrialDatabase from "./TrialDatabase.ts"
import type * as TrialLoad from "./TrialLoad.ts"
import type { TrialOptions } from "./TrialOptions.ts"
import * as TrialRandom from "./TrialRandom.ts"
import type { StoreChoice, TrialSettings } from "./TrialSettings.ts"

/** The options of a world in which trials differ. */
export interface WorldOptions {
  /** Seconds between blocks; default 1. */
  readonly blockTime?: number
  /** Blocks until a block is final; default 3. */
  readonly finalityDepth?: number
  /** Number of keys that the facilitators settle with, 1 to 4; default 2. */
  readonly signers?: number
  /** Default 20. */
  readonly payers?: number
  /** The key of a caller that may see all books; without it they are open. */
  readonly booksKey?: string
  /** Whether smart accounts pay by user operations beside the plain accounts, all in shared transactions; default not. */
  readonly operations?: boolean
  /** The part of the messages between the chains that the bridge's own executor delivers, where payments go on to a second chain. */
  readonly shares?: TrialExecutor.Shares
  /** How leases of lanes are kept where several instances could share the records; default quick ones. */
  readonly leases?: { readonly ttl: number; readonly tick: number }
}

/** The world. */
export interface TrialWorld {
  readonly options: TrialOptions
  readonly random: TrialRandom.TrialRandom
  readonly chain: EvmTestChain.Shape
  readonly rpc: ChainRpc.ChainRpc
  /** The second leg, where a part of the payments goes on to another chain. */
  readonly onward: OnwardLeg | undefined
  readonly database: TrialDatabase.TrialDatabase | undefined
  /** The file of the records, where they are in one. */
  readonly file: string | undefined
  readonly journal: TrialJournal.TrialJournal
  readonly caller: TrialCaller.TrialCaller
  readonly signers: ReadonlyArray<string>
  /** The chain's head before the first payment. */
  readonly firstBlock: bigint
  readonly booksKey: string | undefined
  /** Starts a facilitator on the world's records. */
  readonly facilitator: (
    changed?: Partial<TrialSettings>,
    options?: Pick<FacilitatorLife.Options, "failpoints" | "lives" | "program" | "collects">
  ) => Effect.Effect<FacilitatorLife.FacilitatorLife, never, Scope.Scope>
  /** The options of the load, all but the facilitators. */
  readonly load: Omit<TrialLoad.Options, "facilitators" | "concurrency">
}

/** Makes a world; it goes away with the scope. */
export const make = Effect.fnUntraced(function* (
  options: TrialOptions,
  world: WorldOptions = {}
): Effect.fn.Return<TrialWorld, Anvil.AnvilFailed, Scope.Scope> {
  const { blockTime = 1, finalityDepth = 3, leases = quickLeases, operations = false, payers = 20, signers = 2 } = world
  const random = TrialRandom.make(options.seed)
  const isRouted = options.routes === true
  const timestamp = yield* TrialRoutes.beginning
  const chain = yield* EvmTestChain.make({ payers, payerBalance, ...(isRouted && { timestamp }) })
  const smart = operations ? yield* TrialAccounts.make(chain, payerBalance) : undefined
  const { shares } = world
  const onward = yield* isRouted
    ? TrialRoutes.make(chain, { random, blockTime, shares, bridge: options.bridge })
    : options.inventory === true
      ? TrialInventory.make(chain, { blockTime, finalityDepth })
      : Effect.undefined
  if (isRouted) yield* TrialRoutes.putRight(chain)
  yield* Effect.promise(() => chain.client.setIntervalMining({ interval: blockTime }))
  const database = options.store === "postgres" ? yield* TrialDatabase.make : undefined
  const store = yield* storeFor(options, database, leases)
  const journal = TrialJournal.make()
  const keys = chain.accounts.signers.slice(0, signers)
  const rpc = ChainRpc.make(chain.rpcUrl)
  const firstBlock = yield* rpc.ask(ChainRpc.Quantity, "eth_blockNumber")
  const caller = TrialCaller.make({ journal })
  const asset = { network: chain.network, ...chain.token }
  const facilitator: TrialWorld["facilitator"] = Effect.fnUntraced(function* (changed, life) {
    const settings: TrialSettings = {
      port: yield* ReservedPort.make,
      rpcUrl: chain.rpcUrl,
      signerKeys: keys.map(({ privateKey }) => privateKey),
      assets: [asset],
      store,
      finalityDepth,
      settleTimeoutMillis: 15_000,
      rpcTimeoutMillis: 3_000,
      hangMillis: 30_000,
      ...smart?.settling,
      ...onward?.settings,
      ...changed
    }
    const begun = yield* FacilitatorLife.make({ settings, mutation: options.mutation, ...life })
    options.outputs?.push(begun)
    return begun
  })
  return {
    options,
    random,
    chain,
    rpc,
    onward,
    database,
    file: store.kind === "sqlite" ? store.filename : undefined,
    journal,
    caller,
    signers: keys.map(({ address }) => address),
    firstBlock,
    booksKey: world.booksKey,
    facilitator,
    load: {
      market: { network: chain.network, chainId: chain.chainId, token: chain.token },
      caller,
      random: random.branch("load"),
      payers: chain.accounts.payers,
      ...(smart && { accounts: smart.accounts }),
      ...(onward && { onward: onward.sign }),
      payTo: chain.accounts.payee.address,
      ...(options.validSeconds !== undefined && { validSeconds: options.validSeconds })
    }
  }
})

const payerBalance = 10n ** 12n

/** In milliseconds: a facilitator that is killed often should not wait for its own old leases most of the time. */
const quickLeases = { ttl: 2_000, tick: 500 }

const storeFor = (
  { store }: TrialOptions,
  database: TrialDatabase.TrialDatabase | undefined,
  leases: WorldOptions["leases"] = quickLeases
): Effect.Effect<StoreChoice, never, Scope.Scope> => {
  if (database !== undefined) return Effect.succeed({ kind: "postgres", url: database.url, leases })
  if (store === "memory") return Effect.succeed({ kind: "memory" })
  return Effect.map(directory, (path) => ({ kind: "sqlite", filename: join(path, "payments.sqlite") }))
}

/** A directory that goes away with the scope. */
const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-trial-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The testimony of all witnesses now. */
export const testimony = Effect.fnUntraced(function* (world: TrialWorld, facilitator: string) {
  const { chain, firstBlock, journal, onward, rpc, signers } = world
  const books = yield* PaymentBooks.read(facilitator, world.booksKey)
  // The blocks before are the deployments, the largest of all, and the chain is read twice a second.
  const fromBlock = firstBlock > deepestReorganisation ? firstBlock - deepestReorganisation : 0n
  const payee = chain.accounts.payee.address
  const payees = [payee, ...(onward ? [onward.account] : [])]
  // The second chain comes first: what has arrived there by now has departed before the first one is read.
  const arriving = onward && (yield* onward.readFar(payee))
  const parties = { token: chain.token.address, payees, signers, fromBlock }
  const facts = yield* ChainFacts.read(rpc, parties)
  const departing = onward && (yield* onward.readNear(firstBlock))
  const said: Testimony = { books, chain: facts, journal: journal.lines }
  return arriving && departing ? { ...said, crossings: { ...arriving, ...departing } } : said
})

/** Blocks: a trial replaces no more at once, and a payment may be in a replacement of a block of before. */
const deepestReorganisation = 12n

/** Between looks at what is not over. */
const drainPause = 500
/** Milliseconds after which unchanged differences, some of them beyond mending, are the result. */
const stillMillis = 10_000
/** Milliseconds after which differences beyond mending are the result, though others still change. */
const provenMillis = 60_000

/**
 * Waits until the audit finds nothing, at most `patienceMillis`, and returns its last findings and the time it took.
 * Waiting may mend differences: payments that were pending have ended then.
 */
export const audited = Effect.fnUntraced(function* (
  world: TrialWorld,
  facilitator: string,
  { patienceMillis = 60_000, ...rules }: Audit.Rules & { readonly patienceMillis?: number } = {}
) {
  const start = performance.now()
  let last = { findings: "", since: start }
  let lastingSince = Number.POSITIVE_INFINITY
  while (true) {
    const said = yield* testimony(world, facilitator)
    const findings = [...Audit.findings(said, rules), ...CrossingAudit.findings(said)]
    const now = performance.now()
    const text = JSON.stringify(findings)
    if (text !== last.findings) last = { findings: text, since: now }
    const isLasting = findings.some((one) => Audit.isLasting(one) || CrossingAudit.isLasting(one))
    lastingSince = isLasting ? Math.min(lastingSince, now) : Number.POSITIVE_INFINITY
    const isStill = isLasting && (now - last.since > stillMillis || now - lastingSince > provenMillis)
    if (findings.length === 0 || isStill || now - start > patienceMillis) {
      return { findings, said, millis: now - start }
    }
    yield* Effect.sleep(drainPause)
  }
})
