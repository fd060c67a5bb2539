/**
 * `npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--seed <text>] [--mutation <name>]`: runs one
 * trial, prints what came out, and ends with 0 only if every promise was kept.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"

import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { mutationNames } from "./Mutation.ts"
import { toText } from "./TrialReport.ts"
import { trials } from "./Trials.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite" },
    size: { type: "string" },
    seed: { type: "string", default: randomBytes(4).toString("hex") },
    mutation: { type: "string" }
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

const usage = [
  "npm run trials -- <goal> [--store sqlite|postgres|memory] [--size <number>] [--seed <text>] [--mutation <name>]",
  `goals: ${Object.keys(trials).join(", ")}`,
  `mutations: ${mutationNames.join(", ")}`
].join("\n")

const program = Effect.gen(function* () {
  const { size, mutation } = values
  const asked = decode({ ...values, goal: positionals[0], size, mutation })
  if (Option.isNone(asked)) {
    yield* Console.error(usage)
    return false
  }
  const { goal, ...options } = asked.value
  yield* Console.log(`seed ${options.seed}`)
  const trial = trials[goal]
  if (trial === undefined) return false
  const report = yield* trial(options)
  yield* Console.log(toText(report))
  return report.findings.length === 0
})

const kept = await Effect.runPromise(Effect.scoped(program))
process.exit(kept ? 0 : 1)
