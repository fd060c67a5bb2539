/** `pontage validate <url>`: checks a shop's 402 as its buyers meet it; pays nothing. */
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as PayerSession from "../payer/PayerSession.ts"
import * as PayFailure from "../payer/PayFailure.ts"
import * as ShopChecks from "../shop/ShopChecks.ts"
import { failed, type ShopFinding } from "../shop/ShopFinding.ts"
import * as ShopRequest from "../shop/ShopRequest.ts"
import * as SafeText from "../terminal/SafeText.ts"
import * as Screen from "../terminal/Screen.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as PayerOptions from "./PayerOptions.ts"
import * as RequestOptions from "./RequestOptions.ts"

const { json, quiet } = PayerOptions.table
const { "max-time": maxTime, header, request } = RequestOptions.table

/** The options. */
export const table = { request, header, "max-time": maxTime, json, quiet } as const satisfies CommandLine.OptionTable

const noLimit = "$1000000000"
const never = () => Promise.resolve(false)
const marks = { passed: "ok", advice: "note", failed: "FAIL" } as const

/** Validates. */
export const run = async (args: ReadonlyArray<string>, { signal: stop }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const plan = RequestOptions.read(values, words, "validate")
  const screen = Screen.make(values.quiet === true || values.json === true)
  const signal = RequestOptions.withTime(stop, plan)
  try {
    const findings = await checked(plan, screen, signal)
    screen.wait(undefined)
    const faults = findings.filter(({ verdict }) => verdict === "failed").length
    const exit = ExitCode.numberOf(faults === 0 ? "done" : "failed")
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify({ url: plan.url.href, faults, findings, exit }, null, 2)}\n`)
      return exit
    }
    for (const { check, text, verdict } of findings) show(check, text, marks[verdict])
    process.stdout.write(faults === 0 ? "The shop can be paid.\n" : `${faults} to mend.\n`)
    return exit
  } catch (error) {
    screen.wait(undefined)
    throw PayFailure.of(error, plan.url, undefined) ?? error
  }
}

const show = (check: string, text: string, mark: string): void => {
  const [first = "", ...rest] = Screen.wrapped(text, 47)
  process.stdout.write(`${mark.padEnd(6)}${SafeText.line(check).padEnd(24)} ${first}\n`)
  for (const part of rest) process.stdout.write(`${" ".repeat(31)}${part}\n`)
}

const checked = async (
  plan: RequestOptions.RequestPlan,
  screen: Screen.Screen,
  signal: AbortSignal
): Promise<ReadonlyArray<ShopFinding>> => {
  const { init, url } = plan
  screen.wait(`Asking ${url.host}`)
  const response = await ShopRequest.send(url, init, signal)
  const first = ShopChecks.head(url, response)
  if (response.status !== 402) return first
  const paying = PayerSession.make({ values: {}, plan, screen, signal, journal: undefined, max: noLimit, agree: never })
  const quotation = await paying.quote(url, { ...init, signal }).then(
    (quoted) => ShopChecks.offers(url, quoted),
    (error: unknown) => [failed("offers", SafeText.line(error instanceof Error ? error.message : String(error), 300))]
  )
  return [
    ...first,
    ...ShopChecks.dialects(response),
    ...quotation,
    ...(await ShopChecks.falsePayments(url, init.method, signal)),
    ...(await ShopChecks.crossOrigin(url, init.method, signal)),
    ...(await ShopChecks.discovery(url, signal))
  ]
}
