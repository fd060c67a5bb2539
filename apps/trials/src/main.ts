/**
 * `npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--seed <text>] [--mutation <name>]`: runs one
 * trial, prints what came out, and ends with 0 only if every promise was kept. `npm run trials -- attacks [--only <name>]
 * [--target pontage|x402|both] [--mutations]` carries out the battery of attacks.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"

import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import * as AttackTable from "./attacks/AttackTable.ts"
import * as AttackTrial from "./attacks/AttackTrial.ts"
import { battery } from "./attacks/Battery.ts"
import { mutationNames } from "./Mutation.ts"
import { toText } from "./TrialReport.ts"
import { trials } from "./Trials.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite" },
    size: { type: "string" },
    seed: { type: "string", default: randomBytes(4).toString("hex") },
    mutation: { type: "string" },
    only: { type: "string", multiple: true },
    target: { type: "string", default: "pontage" },
    mutations: { type: "boolean", default: false }
  }
})

const decode = Schema.decodeUnknownOption(
  Schema.Struct({
    goal: Schema.Literals(Object.keys(trials)),
    store: Schema.Literals(["sqlite", "postgres", "memory"]),
    size: Schema.UndefinedOr(Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))),
    seed: Schema.String,
    mutation: Schema.UndefinedOr(Schema.Literals(mutationNames))
  })
)

const targets = { pontage: ["pontage"], x402: ["x402"], both: ["pontage", "x402"] } as const

const decodeAttacks = Schema.decodeUnknownOption(
  Schema.Struct({
    only: Schema.UndefinedOr(Schema.Array(Schema.Literals(battery.map(({ name }) => name)))),
    target: Schema.Literals(["pontage", "x402", "both"]),
    mutations: Schema.Boolean
  })
)

const usage = [
  "npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--seed <text>] [--mutation <name>]",
  "npm run trials -- attacks [--only <attack>]... [--target pontage|x402|both] [--mutations]",
  `attacks: ${battery.map(({ name }) => name).join(", ")}`,
  `goals: ${Object.keys(trials).join(", ")}`,
  `mutations: ${mutationNames.join(", ")}`
].join("\n")

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
  const { size, mutation } = values
  const asked = decode({ ...values, goal: positionals[0], size, mutation })
  if (Option.isNone(asked)) {
    yield* Console.error(usage)
    return false
  }
  const { goal, ...options } = asked.value
  yield* Console.log(`seed ${options.seed}`)
  const run = trials[goal]
  if (run === undefined) return false
  const report = yield* run(options)
  yield* Console.log(toText(report))
  return report.findings.length === 0
})

const kept = await Effect.runPromise(Effect.scoped(positionals[0] === "attacks" ? attacks : trial))
process.exit(kept ? 0 : 1)
