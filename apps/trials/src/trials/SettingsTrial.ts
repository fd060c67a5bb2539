/**
 * A configuration that changes between restarts: payments whose transactions are on their way when their facilitator is killed end
 * as paid, and their buyers are served, though the next one lacks their asset, their signer, or the batches that they travel in.
 */
import { deployBatchSettler } from "@pontage/evm"
import { type Anvil, DollarToken } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { encodeFunctionData } from "viem"

import * as PaymentBooks from "../audit/PaymentBooks.ts"
import type { TrialClaim } from "../world/TrialCaller.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import * as TrialPayment from "../world/TrialPayment.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import type { TrialSettings } from "../world/TrialSettings.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

/** The setting that changes. */
export type Change = "asset" | "signer" | "batches"

/** Pending payments in each round, in one transaction. */
const payments = 4
/** Validity of a payment, in seconds: longer than a round takes. */
const validSeconds = 600
const usualPatience = 60_000

interface Round {
  readonly market: TrialPayment.Market
  readonly earlier: Partial<TrialSettings>
  readonly later: Partial<TrialSettings>
  /** The chain's change between two rounds. */
  readonly meanwhile: Effect.Effect<void>
}

/** Runs the trial, by default with every change once. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions,
  changes: ReadonlyArray<Change> = ["asset", "signer", "batches"]
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const world = yield* TrialWorld.make(options, { payers: payments })
  const findings: Array<Broken> = []
  for (const change of changes) {
    const round = yield* roundOf(world, change)
    const found = yield* Effect.scoped(restarted(world, round, change))
    findings.push(...found)
  }
  return {
    goal: "settings",
    title: `a restart with other settings (${changes.join(", ")}) while payments are on their way`,
    options,
    figures: { changes: changes.length, payments: changes.length * payments },
    findings
  }
})

const roundOf = Effect.fnUntraced(function* (world: TrialWorld.TrialWorld, change: Change) {
  const { accounts, chainId, deploy, mine, network, rpcUrl, send, setNextBlockBaseFee, token } = world.chain
  const settler = yield* Effect.orDie(deployBatchSettler({ signer: accounts.deployer, rpcUrl }))
  const [first, second] = accounts.signers
  const assets = [{ network, ...token }]
  const market = { network, chainId, token }
  const usual = { assets, signerKeys: [first.privateKey], batchSettler: settler }
  switch (change) {
    case "asset": {
      const address = yield* deploy(DollarToken, [token.name, token.symbol, token.version])
      for (const payer of accounts.payers) {
        const data = encodeFunctionData({
          abi: DollarToken.abi,
          functionName: "mint",
          args: [payer.address, 10n ** 9n]
        })
        yield* send({ to: address, data })
      }
      const other = { ...token, address, symbol: "OTHER" }
      const earlier = { ...usual, assets: [...assets, { network, ...other }] }
      return { market: { ...market, token: other }, earlier, later: usual, meanwhile: Effect.void } satisfies Round
    }
    case "signer": {
      const later = { ...usual, signerKeys: [second.privateKey] }
      return { market, earlier: usual, later, meanwhile: Effect.void } satisfies Round
    }
    case "batches": {
      const { batchSettler: _, ...later } = usual
      // The signed transaction is now too cheap for a block and has to be signed again.
      const meanwhile = Effect.andThen(setNextBlockBaseFee(50n * 10n ** 9n), mine())
      return { market, earlier: usual, later, meanwhile } satisfies Round
    }
  }
})

const isPlanned = (history: PaymentBooks.BookEntry["history"]) => history.some(({ status }) => status === "planned")

const Pool = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String, queued: Schema.String }))

const restarted = Effect.fnUntraced(function* (world: TrialWorld.TrialWorld, round: Round, change: Change) {
  const { caller, chain, options, random } = world
  const validBefore = Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000) + validSeconds
  const terms = { payTo: chain.accounts.payee.address, amount: 10_000n, validBefore, bound: true }
  const signed = yield* Effect.forEach(chain.accounts.payers.slice(0, payments), (payer, index) =>
    Effect.promise(() => TrialPayment.sign(round.market, { ...terms, payer }, random.branch(`${change}${index}`)))
  )
  const nonces = new Set<string>(signed.map(({ journal }) => journal.nonce))
  const claimOf = (index: number): TrialClaim => ({
    id: `${change}${index}`.padEnd(22, "x"),
    resource: "report".padEnd(43, "x")
  })
  // With automatic mining off alone blocks would go on to come every second, and take the transaction along unseen.
  yield* chain.setIntervalMining(0)
  yield* chain.setAutomine(false)
  yield* Effect.scoped(
    Effect.gen(function* () {
      const { listening, url } = yield* world.facilitator(round.earlier)
      yield* listening
      const asking = yield* Effect.forEach(signed, (payment, index) =>
        Effect.forkChild(caller.present("settle", url, payment, claimOf(index)))
      )
      const size = Effect.map(chain.request("txpool_status"), (answer) => Number(Pool(answer).pending))
      yield* Effect.repeat(size, { until: (found) => found > 0, schedule: Schedule.spaced("100 millis") })
      // Each has to be on its way: one that is not on record yet would be a new one to the next process.
      yield* Effect.repeat(PaymentBooks.read(url), {
        until: (books) =>
          books.filter(({ history, nonce }) => nonces.has(nonce) && isPlanned(history)).length === payments,
        schedule: Schedule.spaced("100 millis")
      })
      for (const one of asking) yield* Fiber.interrupt(one)
    })
  )
  yield* chain.request("anvil_dropAllTransactions")
  yield* round.meanwhile
  const { listening, url } = yield* world.facilitator(round.later)
  yield* chain.setIntervalMining(1)
  yield* listening
  const deadline = performance.now() + (options.patienceMillis ?? usualPatience)
  const open = Effect.map(PaymentBooks.read(url), (books) =>
    books.filter(({ nonce, status }) => nonces.has(nonce) && status !== "final")
  )
  const unended = yield* Effect.repeat(open, {
    until: (left) => left.length === 0 || performance.now() > deadline,
    schedule: Schedule.spaced("500 millis")
  })
  const findings = unended.map(({ paymentId, status }): Broken => ({
    check: "unended",
    detail: `${change}: ${paymentId} is ${status}`
  }))
  // One that has not ended would be waited for in vain.
  for (const [index, payment] of unended.length === 0 ? signed.entries() : []) {
    const told = yield* caller.present("settle", url, payment, claimOf(index))
    const isServed = told._tag === "Verdict" && told.success && told.execution === "granted"
    if (!isServed) findings.push({ check: "unserved", detail: `${change}: ${JSON.stringify(told)}` })
  }
  return findings
})
