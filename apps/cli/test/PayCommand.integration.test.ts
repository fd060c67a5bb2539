/** `pontage pay` and `pontage quote` as processes, at a real shop on a real chain. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as CliProcess from "./CliProcess.ts"
import * as OpenShop from "./OpenShop.ts"

const open = Effect.fnUntraced(function* (repeat: "none" | "same") {
  const chain = yield* EvmTestChain.make({ payers: 2 })
  const shop = yield* OpenShop.koa(chain, repeat)
  const home = CliProcess.freshHome()
  const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args))
  const earned = Effect.map(chain.transfers(), (all) => all.filter(({ to }) => to === chain.accounts.payee.address))
  return { chain, earned, home, run, shop, url: `${shop.origin}/report` }
})

const market = open("none")

describe("pontage", () => {
  it.live("quotes, refuses above the limit, pays once, and says what it paid", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { chain, home, run, shop, url } = yield* market
        const quoted = yield* run("quote", url)
        assert.deepStrictEqual([quoted.code, /\$0\.01 +0\.01 TUSD on eip155:31337/.test(quoted.out)], [0, true])
        const dear = yield* run("pay", url, "--max", "0.009")
        assert.strictEqual(dear.code, 3, dear.err)
        const unasked = yield* run("pay", url)
        assert.deepStrictEqual([unasked.code, unasked.out], [3, ""])
        assert.include(unasked.err, "--max 0.01, or --yes")
        assert.lengthOf(shop.payments, 0)

        const file = join(home, "report.json")
        const paid = yield* run("pay", url, "--max", "$0.01", "-o", file)
        assert.strictEqual(paid.code, 0, paid.err)
        assert.strictEqual(readFileSync(file, "utf8"), '{"report":"It will rain."}')
        const [transfer, ...more] = yield* chain
          .transfers()
          .pipe(Effect.map((all) => all.filter(({ to }) => to === chain.accounts.payee.address)))
        assert.deepStrictEqual([transfer?.value, more], [10_000n, []])
        assert.include(paid.err, transfer?.transactionHash ?? "a transfer")

        const key = chain.accounts.payers[1]?.privateKey ?? assert.fail("two payers")
        const other = yield* Effect.promise(() =>
          CliProcess.run(home, ["pay", url, "-y", "--json"], { PONTAGE_EVM_KEY: key })
        )
        const document: unknown = JSON.parse(other.out)
        assert.nestedPropertyVal(document, "payment.payer", chain.accounts.payers[1]?.address)
        assert.nestedPropertyVal(document, "payment.state", "settled")
        assert.nestedPropertyVal(document, "body", '{"report":"It will rain."}')
        assert.notInclude(other.out + other.err, key.slice(2))
      })
    )
  )

  it.live("passes responses through that ask for nothing, with curl's exit codes for scripts", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run, shop } = yield* market
        const free = yield* run("pay", `${shop.origin}/free`, "-i")
        assert.deepStrictEqual([free.code, free.out.endsWith("\n\nfree")], [0, true])
        assert.match(free.out, /^HTTP 200/)
        assert.strictEqual((yield* run("pay", `${shop.origin}/nowhere`)).code, 8)
        assert.strictEqual((yield* run("pay", "http://127.0.0.1:9/")).code, 6)
        const misused = [["pay"], ["pay", "http://a:b@127.0.0.1/"], ["pay", shop.origin, "--key", "0xabc"], ["buy"]]
        for (const args of misused) {
          const { code, err } = yield* run(...args)
          assert.deepStrictEqual([code, err.includes("0xabc")], [2, false], err)
        }
      })
    )
  )

  it.live("stopped by Ctrl-C in the middle of a payment says so, and the same command resumes it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { chain, home, run, shop, url } = yield* market
        shop.holds = true
        const arrived = shop.nextPayment()
        const running = CliProcess.start(home, ["pay", url, "-y", "-s"])
        yield* Effect.promise(() => arrived)
        running.interrupt()
        const stopped = yield* Effect.promise(() => running.ended)
        assert.strictEqual(stopped.code, 5, stopped.err)
        assert.include(stopped.err, "A payment of $0.01 to")
        const paymentId = /pay_\S+/.exec(stopped.err)?.[0] ?? assert.fail(stopped.err)

        shop.holds = false
        const resumed = yield* run("pay", url, "-y")
        assert.strictEqual(resumed.code, 0, resumed.err)
        assert.strictEqual(resumed.out, '{"report":"It will rain."}')
        assert.include(resumed.err, "nothing new was signed")
        assert.include(resumed.err, paymentId)
        const [first, ...others] = shop.payments
        assert.isTrue(others.length > 0 && others.every((payment) => payment === first))
        const transfers = yield* chain.transfers()
        assert.lengthOf(
          transfers.filter(({ to }) => to === chain.accounts.payee.address),
          1
        )
      })
    )
  )

  it.live("stopped before it paid says that nothing is pending", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const asked = Promise.withResolvers<void>()
        const { origin } = yield* OpenShop.listen(() => asked.resolve())
        const running = CliProcess.start(CliProcess.freshHome(), ["pay", origin, "-y"])
        yield* Effect.promise(() => asked.promise)
        running.interrupt()
        const { code, err } = yield* Effect.promise(() => running.ended)
        assert.deepStrictEqual([code, err.includes("may still go through")], [130, false])
      })
    )
  )

  it.live.each(["same", "none"] as const)(
    "asks for a response that broke off with the same payment, and buys anew only when told so: repeat %s",
    (repeat) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { earned, run, shop, url } = yield* open(repeat)
          shop.cuts = true
          const broken = yield* run("pay", url, "-y")
          assert.strictEqual(broken.code, 5, broken.err)
          assert.match(broken.err, /the response broke off/)
          assert.match(broken.err, /Until .* the same command asks for it again with the same payment/)
          assert.include((yield* run("journal")).out, "paid; the shop owes its answer")

          shop.cuts = false
          const again = yield* run("pay", url, "-y")
          assert.lengthOf(yield* earned, 1, again.err)
          assert.strictEqual(new Set(shop.payments).size, 1)
          if (repeat === "same") {
            assert.deepStrictEqual([again.code, again.out], [0, '{"report":"It will rain."}'], again.err)
          } else {
            assert.strictEqual(again.code, 4, again.err)
            assert.include(again.err, "The shop gives nothing more for it: the same command buys anew")
          }
          assert.notInclude((yield* run("journal")).out, "owes")
          assert.strictEqual((yield* run("pay", url, "-y")).code, 0)
          assert.lengthOf(yield* earned, 2)
        })
      )
  )
})
