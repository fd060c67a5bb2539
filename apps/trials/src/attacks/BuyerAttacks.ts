/**
 * Attacks on our buyer: by shops that take a payment and want another one, or one in another coin, and by what happens to a
 * buyer's process and options.
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileShop from "./hostile/HostileShop.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import type { AttackStage } from "./stage/AttackStage.ts"
import * as StagedProcess from "./stage/StagedProcess.ts"

interface Buyer {
  readonly options?: Readonly<Record<string, unknown>>
  readonly journal?: string
  /** Timeout of a call, in milliseconds. */
  readonly patience?: number
}

/** For shops that would be asked again for as long as their offer lets them. */
const impatient = { patience: 1_000 }

const startBuyer = ({ mutation }: AttackStage, { options = {}, patience = 300_000, ...rest }: Buyer = {}) =>
  StagedProcess.start({
    module: "apps/trials/src/attacks/stage/BuyerMain",
    mutation,
    environment: { ROLE: JSON.stringify({ privateKey: HostileWallet.make().privateKey, options, patience, ...rest }) }
  })

const BuyerReport = Schema.fromJsonString(Schema.Struct({ status: Schema.Number, said: Schema.String }))
const decodeBuyerReport = Schema.decodeUnknownSync(BuyerReport)

/** Lets the buyer request a URL and returns its report. */
const ask = (buyer: StagedProcess.StagedProcess, url: string) =>
  Effect.map(HostileCall.send(`${buyer.url}/?url=${encodeURIComponent(url)}`), ({ text }) => decodeBuyerReport(text))

const misspelt: Attack = {
  name: "misspelt-limit",
  what: "a buyer is started whose limits, and whose list of hosts, have a key that is spelt wrongly",
  expected: "it does not start, and names the key; rightly spelt it starts and keeps to them",
  targets: ["pontage"],
  mutation: [{ module: "core/src/protocol/OptionCheck", piece: "unknown === undefined", instead: "unknown !== null" }],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* HostileShop.open({ "/two-cents": { offer: { amount: "20000" }, answer: HostileShop.serve } })
    const wrong = [{ limits: { perReqest: "$0.01" } }, { allow: { host: ["api.example"] } }]
    const ends = yield* Effect.forEach(wrong, (options) => Effect.exit(startBuyer(stage, { options })), {
      concurrency: 2
    })
    const refused = ends.filter((end, index) => {
      const key = ["perReqest", "host"][index] ?? ""
      return (
        Exit.isFailure(end) &&
        Cause.pretty(end.cause).includes(
          `${key}: unknown key; did you mean ${key === "host" ? "hosts" : "perRequest"}?`
        )
      )
    })
    for (const end of ends) if (Exit.isSuccess(end)) yield* ask(end.value, `${shop.url}/two-cents`)
    const right = yield* startBuyer(stage, { options: { limits: { perRequest: "$0.01" } } })
    const stray = shop.shown("/two-cents").payments
    const told = yield* ask(right, `${shop.url}/two-cents`)
    return {
      held: refused.length === 2 && stray === 0 && told.said === "over_request_limit",
      seen: `${refused.length} of 2 named their key, ${stray} payments above what was meant; rightly spelt: ${told.said}`,
      attackerCost: "nothing",
      targetCost: `${stray * 20_000} units`
    }
  })
}

/** Ways in which a shop may treat a payment that it has taken. */
const doubts: Readonly<Record<string, HostileShop.Trick>> = {
  "/busy": { answer: (response) => response.writeHead(409, { "retry-after": "0" }).end('{"retry":"wait"}') },
  "/unknown": { answer: (response) => response.writeHead(503, { "retry-after": "0" }).end("{}") },
  "/again": { answer: (response) => HostileShop.refuse(response) },
  "/cheaper": { answer: (response) => HostileShop.refuse(response, { amount: "1" }) },
  "/broken": { answer: (response) => response.writeHead(500).end("oops") },
  "/gone": { answer: (response) => response.destroy() },
  "/used": { answer: (response) => response.writeHead(409).end('{"reason":"already_used","retry":"never"}') }
}

/** Asks until the shop was shown a payment once more, however slow the machine is. */
const askUntilShown = Effect.fnUntraced(function* (
  buyer: StagedProcess.StagedProcess,
  shop: HostileShop.HostileShop,
  path: string
) {
  const before = shop.shown(path).times
  for (let call = 0; call < 30 && shop.shown(path).times === before; call++) yield* ask(buyer, `${shop.url}${path}`)
})

/** The same, and twice more. */
const askAgain = Effect.fnUntraced(function* (
  buyer: StagedProcess.StagedProcess,
  shop: HostileShop.HostileShop,
  path: string
) {
  yield* askUntilShown(buyer, shop, path)
  yield* ask(buyer, `${shop.url}${path}`)
  yield* ask(buyer, `${shop.url}${path}`)
  return shop.shown(path).payments
})

const doubting: Attack = {
  name: "doubting-shop",
  what: "shops take a payment and answer 409, 503, 402, 500, nothing, or that it was used; the buyer calls again and again",
  expected: "one payment for each, whatever they answer",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/client/PaymentClient",
      piece: "journal.adopt(name)",
      instead: "journal.adopt(name + Math.random())"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* HostileShop.open(doubts)
    const buyer = yield* startBuyer(stage, impatient)
    const paths = Object.keys(doubts)
    const payments = yield* Effect.forEach(paths, (path) => askAgain(buyer, shop, path), { concurrency: "unbounded" })
    const more = payments.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
    return {
      held: payments.every((count) => count === 1),
      seen: paths.map((path, index) => `${path} ${payments[index]}`).join(", "),
      attackerCost: "nothing",
      targetCost: `${more * 10_000} units`
    }
  })
}

const redirected: Attack = {
  name: "redirected-payment",
  what: "a shop answers a payment by a redirection to another one, which would keep it",
  expected: "the other one is shown no payment",
  targets: ["pontage"],
  mutation: [
    { module: "adapters/fetch/src/OutgoingRequest", piece: 'redirect: "manual"', instead: 'redirect: "follow"' }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const thief = yield* HostileShop.open({ "/kept": { answer: HostileShop.serve } })
    const shop = yield* HostileShop.open({
      "/moved": { answer: (response) => response.writeHead(307, { location: `${thief.url}/kept` }).end() }
    })
    const buyer = yield* startBuyer(stage, impatient)
    const payments = yield* askAgain(buyer, shop, "/moved")
    const { times } = thief.shown("/kept")
    return {
      held: times === 0 && payments === 1,
      seen: `${payments} payments at the shop, shown ${times} times elsewhere`,
      attackerCost: "nothing",
      targetCost: times === 0 ? "nothing" : "10000 units"
    }
  })
}

const serving = (offer: Partial<HostileWallet.Offer>): HostileShop.Trick => ({ offer, answer: HostileShop.serve })

/** Offers that look like one of a cent. */
const lookAlikes: ReadonlyArray<readonly [path: string, offer: Partial<HostileWallet.Offer>, declined: string]> = [
  ["/other-token", { asset: HostileWallet.make().address }, "asset_unknown"],
  ["/token-of-another-network", { asset: "0x833589fCD6eDb88E08f4c7C32D4f71b54bdA0291" }, "asset_unknown"],
  ["/other-network", { network: "eip155:8453" }, "no_acceptable_option"],
  ["/other-domain", { extra: { name: "USD Coin", version: "2" } }, "terms_unsupported"],
  ["/amount-in-words", { amount: "1e4" }, "no_acceptable_option"],
  ["/amount-in-hexadecimals", { amount: "0x2710" }, "no_acceptable_option"],
  ["/negative", { amount: "-1" }, "no_acceptable_option"],
  ["/above-the-limit", { amount: "100001" }, "over_request_limit"],
  ["/no-payee", { payTo: "0x0000000000000000000000000000000000000000" }, "SigningFailed"],
  ["/other-scheme", { scheme: "upto" }, "no_acceptable_option"]
]

const lookAlike: Attack = {
  name: "look-alike-offer",
  what: "a shop asks for other tokens, networks, domains, schemes, payees and amounts than it seems to",
  expected: "none is paid; the honest offer beside them is",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/client/PaymentPolicy",
      piece: "return objection === undefined",
      instead: "return objection !== null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const tricks = Object.fromEntries(lookAlikes.map(([path, offer]) => [path, serving(offer)]))
    const shop = yield* HostileShop.open({ ...tricks, "/honest": serving({}) })
    const buyer = yield* startBuyer(stage)
    const told = yield* Effect.forEach(lookAlikes, ([path]) => ask(buyer, `${shop.url}${path}`))
    const honest = yield* ask(buyer, `${shop.url}/honest`)
    const paid = lookAlikes.flatMap(([path]) => (shop.shown(path).times > 0 ? [path] : []))
    const isDeclined = lookAlikes.every(([, , declined], index) => told[index]?.said === declined)
    return {
      held: paid.length === 0 && isDeclined && honest.said === "goods",
      seen: `${lookAlikes.map(([path], index) => `${path} ${told[index]?.said}`).join(", ")}; honest: ${honest.said}`,
      attackerCost: "nothing",
      targetCost: paid.length === 0 ? "nothing" : `payments at ${paid.join(", ")}`
    }
  })
}

/** One life of a buyer with this journal, ended by SIGKILL. */
const life = <A>(stage: AttackStage, settings: Buyer, live: (buyer: StagedProcess.StagedProcess) => Effect.Effect<A>) =>
  Effect.scoped(
    Effect.flatMap(startBuyer(stage, settings), (buyer) =>
      Effect.map(live(buyer), (came) => ({ came, pid: buyer.pid }))
    )
  ).pipe(
    Effect.tap(({ pid }) => untilGone(pid)),
    Effect.map(({ came }) => came)
  )

const untilGone = Effect.fnUntraced(function* (pid: number) {
  for (let look = 0; look < 500; look++) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    yield* Effect.sleep("20 millis")
  }
})

const newJournal = () => join(mkdtempSync(join(tmpdir(), "pontage-buyer-")), "payments.jsonl")

const starters: Attack = {
  name: "starters-at-once",
  what: "a buyer is killed while it pays, and six start at once with its journal",
  expected: "one of them gets it and shows the same payment again, the others say who has it",
  targets: ["pontage"],
  mutation: [
    {
      module: "adapters/fetch/src/FileLock",
      piece: "LockHolder.isAlive(last)",
      instead: "LockHolder.isAlive(last) === null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* HostileShop.open({ "/gone": { answer: (response) => response.destroy() } })
    const settings = { ...impatient, journal: newJournal() }
    yield* life(stage, settings, (buyer) => askAgain(buyer, shop, "/gone"))
    const started = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => Effect.exit(startBuyer(stage, settings)), {
      concurrency: "unbounded"
    })
    const opened = started.filter(Exit.isSuccess)
    const told = started.filter((exit) => Exit.isFailure(exit) && /in use by process/.test(Cause.pretty(exit.cause)))
    const before = shop.shown("/gone").times
    yield* Effect.forEach(opened, ({ value }) => askUntilShown(value, shop, "/gone"))
    const { payments, times } = shop.shown("/gone")
    return {
      held: opened.length === 1 && told.length === 5 && payments === 1 && times > before,
      seen: `${opened.length} opened it, ${told.length} were told who has it, ${payments} payments`,
      attackerCost: "nothing",
      targetCost: opened.length === 1 ? "nothing" : `${opened.length} writers of one journal`
    }
  })
}

const budget: Attack = {
  name: "budget-across-restarts",
  what: "a buyer with two cents a day pays one, is killed, pays another one, is killed, and is asked for a third",
  expected: "declined: what was spent before a restart is spent",
  targets: ["pontage"],
  mutation: [
    {
      module: "adapters/fetch/src/FileJournal",
      piece: "[...latest.values()]",
      instead: "[...latest.values()].slice(latest.size)"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const paths = ["/one", "/two", "/three"]
    const shop = yield* HostileShop.open(Object.fromEntries(paths.map((path) => [path, serving({})])))
    const settings = { journal: newJournal(), options: { limits: { perRequest: "$0.01", perDay: "$0.02" } } }
    const told = yield* Effect.forEach(paths, (path) =>
      life(stage, settings, (buyer) => ask(buyer, `${shop.url}${path}`))
    )
    const payments = paths.reduce((sum, path) => sum + shop.shown(path).payments, 0)
    return {
      held: payments === 2 && told.map(({ said }) => said).join() === "goods,goods,over_day_limit",
      seen: `${told.map(({ said }) => said).join(", ")}; ${payments} payments`,
      attackerCost: "nothing",
      targetCost: `${Math.max(0, payments - 2) * 10_000} units`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [misspelt, doubting, redirected, lookAlike, starters, budget]
