/**
 * `npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--minutes <number>] [--seed <text>] [--mutation <name>] [--routes [--bridge oft|cctp] | --inventory]`: runs one
 * trial, prints what came out, and ends with 0 only if every promise was kept; with `--routes` or `--inventory` a part of its payments goes on to a second chain. `npm run trials -- attacks [--only <name>]
 * [--target pontage|x402|both] [--mutations]` carries out the battery of attacks; `npm run trials -- simulate [--seeds <number>]
 * [--from <seed>] [--minutes <number>] [--seed <seed>] [--mutation <name>] [--mutations]` simulates whole worlds.
 */
import { randomBytes, randomInt } from "node:crypto"
import { parseArgs } from "node:util"

import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import * as AttackTable from "./attacks/AttackTable.ts"
import * as AttackTrial from "./attacks/AttackTrial.ts"
import { battery } from "./attacks/Battery.ts"
import { mutationNames } from "./Mutation.ts"
import * as SimulateCommand from "./simulation/SimulateCommand.ts"
import { simulationMutationNames } from "./simulation/SimulationMutations.ts"
import { routedTrials, trials } from "./Trials.ts"
import { toText } from "./world/TrialReport.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite" },
    size: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string" },
    mutation: { type: "string" },
    only: { type: "string", multiple: true },
    target: { type: "string", default: "pontage" },
    mutations: { type: "boolean", default: false },
    routes: { type: "boolean", default: false },
    bridge: { type: "string" },
    inventory: { type: "boolean", default: false },
    seeds: { type: "string" },
    from: { type: "string" },
    threads: { type: "string" }
  }
})

const decode = Schema.decodeUnknownOption(
  Schema.Struct({
    goal: Schema.Literals(Object.keys(trials)),
    store: Schema.Literals(["sqlite", "postgres", "memory"]),
    size: Schema.UndefinedOr(Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))),
    minutes: Schema.UndefinedOr(Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
    seed: Schema.String,
    mutation: Schema.UndefinedOr(Schema.Literals(mutationNames)),
    routes: Schema.Boolean,
    bridge: Schema.UndefinedOr(Schema.Literals(["oft", "cctp"])),
    inventory: Schema.Boolean
  }).check(
    Schema.makeFilter(({ goal, inventory, routes }) => !(routes || inventory) || routedTrials.includes(goal), {
      expected: `routes or inventory with one of ${routedTrials.join(", ")}`
    }),
    Schema.makeFilter(({ inventory, routes }) => !(routes && inventory), { expected: "routes or inventory, not both" }),
    Schema.makeFilter(({ bridge, routes }) => bridge === undefined || routes, {
      expected: "a bridge with routes alone"
    })
  )
)

const targets = { pontage: ["pontage"], x402: ["x402"], both: ["pontage", "x402"] } as const

const Count = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 2 ** 31 }))

const decodeSimulate = Schema.decodeUnknownOption(
  Schema.Struct({
    seeds: Schema.UndefinedOr(Count),
    seed: Schema.UndefinedOr(Count),
    from: Schema.UndefinedOr(Count),
    minutes: Schema.UndefinedOr(Count),
    threads: Schema.UndefinedOr(Count),
    mutation: Schema.UndefinedOr(Schema.Literals(simulationMutationNames)),
    mutations: Schema.Boolean
  })
)

const decodeAttacks = Schema.decodeUnknownOption(
  Schema.Struct({
    only: Schema.UndefinedOr(Schema.Array(Schema.Literals(battery.map(({ name }) => name)))),
    target: Schema.Literals(["pontage", "x402", "both"]),
    mutations: Schema.Boolean
  })
)

const usage = [
  "npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--minutes <number>] [--seed <text>] [--mutation <name>] [--routes [--bridge oft|cctp] | --inventory]",
  "npm run trials -- attacks [--only <attack>]... [--target pontage|x402|both] [--mutations]",
  `attacks: ${battery.map(({ name }) => name).join(", ")}`,
  "npm run trials -- simulate [--seeds <number>] [--from <seed>] [--minutes <number>] [--seed <seed>] [--threads <number>] [--mutation <name>] [--mutations]",
  `mutations of simulations: ${simulationMutationNames.join(", ")}`,
  `goals: ${Object.keys(trials).join(", ")}`,
  `mutations: ${mutationNames.join(", ")}`
].join("\n")

const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** More than a machine simulates in a week. */
const seedsAtMost = 2 ** 30

const simulate = Effect.gen(function* () {
  const { mutation, from, minutes, mutations, seed, seeds, threads } = values
  const asked = decodeSimulate({ mutation, from, minutes, mutations, seed, seeds, threads })
  if (Option.isNone(asked) || positionals.length > 1) {
    yield* Console.error(usage)
    return false
  }
  const { from: first, seed: only, seeds: count, ...rest } = asked.value
  const isOne = only !== undefined && count === undefined && rest.minutes === undefined
  const usual = rest.minutes === undefined ? 1000 : seedsAtMost
  // A run by time uses fresh seeds.
  const usualFirst = rest.minutes === undefined ? 1 : randomInt(1, 2 ** 30)
  return yield* Effect.promise(() =>
    SimulateCommand.run({ ...rest, seed: first ?? only ?? usualFirst, seeds: isOne ? 1 : (count ?? usual), print })
  )
})

const attacks = Effect.gen(function* () {
  const asked = decodeAttacks({ only: values.only, target: values.target, mutations: values.mutations })
  if (Option.isNone(asked) || positionals.length > 1) {
    yield* Console.error(usage)
    return false
  }
  const { mutations, only, target } = asked.value
  const rows = yield* AttackTrial.run({
    ...(only && { only }),
    targets: targets[target],
    mutations,
    tell: (row) => Console.log(AttackTable.lineOf(row))
  })
  yield* Console.log(AttackTable.summaryOf(rows))
  return rows.every(AttackTrial.isAsItShould)
})

const trial = Effect.gen(function* () {
  const { bridge, minutes, size, mutation, seed = randomBytes(4).toString("hex") } = values
  const asked = decode({ ...values, goal: positionals[0], bridge, minutes, size, mutation, seed })
  if (Option.isNone(asked)) {
    yield* Console.error(usage)
    return false
  }
  const { goal, ...options } = asked.value
  yield* Console.log(`seed ${options.seed}`)
  const run = trials[goal]
  if (run === undefined) return false
  const report = yield* run({ ...options, outputs: [] })
  yield* Console.log(toText(report))
  return report.findings.length === 0
})

const commands = { attacks, simulate }
const command = positionals[0] === "attacks" || positionals[0] === "simulate" ? commands[positionals[0]] : trial
const kept = await Effect.runPromise(Effect.scoped(command))
process.exit(kept ? 0 : 1)
