import { assert, describe, it } from "@effect/vitest"
import { Controller, Get, Inject, Injectable, Module } from "@nestjs/common"
import { Facilitator, FacilitatorUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { Paid } from "../src/payment.decorator.ts"
import { PaymentModule } from "../src/payment.module.ts"
import { PaymentRoutes } from "../src/payment.routes.ts"
import { build, create, hosts, listen, start } from "./TestApp.ts"
import { payment, shopOptions, terms, TestFacilitator } from "./TestShop.ts"

const idle = () => {}
let entered = idle
let leave: Promise<void> = Promise.resolve()

/** The next slow run: when it has begun, and how to let it end. */
const slowRun = () => {
  let release = idle
  leave = new Promise((resolve) => {
    release = resolve
  })
  const running = new Promise<void>((resolve) => {
    entered = resolve
  })
  return { release, running }
}

@Controller()
class ReportController {
  @Get("report")
  @Paid(terms)
  report() {
    return "report"
  }

  @Get("slow")
  @Paid(terms)
  async slow() {
    entered()
    await leave
    return "slow"
  }
}

@Module({ controllers: [ReportController] })
class ReportModule {}

@Injectable()
class Secrets {
  readonly facilitator = new TestFacilitator()
}

@Module({ providers: [Secrets], exports: [Secrets] })
class SecretsModule {}

@Injectable()
class Readiness {
  readonly routes: PaymentRoutes

  constructor(@Inject(PaymentRoutes) routes: PaymentRoutes) {
    this.routes = routes
  }
}

describe.each(hosts)("PaymentModule on $name", (host) => {
  it("takes its options from other providers", async () => {
    const payments = PaymentModule.forRootAsync({
      imports: [SecretsModule],
      inject: [Secrets],
      useFactory: async ({ facilitator }: Secrets) => shopOptions(facilitator)
    })
    const app = await build(host, { imports: [payments, ReportModule] })
    const port = await listen(app)
    await app.get(PaymentRoutes).ready()
    assert.strictEqual((await fetch(`http://127.0.0.1:${port}/report`)).status, 402)
    const paid = await fetch(`http://127.0.0.1:${port}/report`, { headers: { "X-Payment": payment("n1") } })
    assert.strictEqual(await paid.text(), "report")
    assert.deepStrictEqual(app.get(Secrets, { strict: false }).facilitator.settled, ["n1"])
    await app.close()
  })

  it("sells handlers of modules that do not import it, wherever it stands", async () => {
    const facilitator = new TestFacilitator()
    const app = await build(host, { imports: [ReportModule, PaymentModule.forRoot(shopOptions(facilitator))] })
    const port = await listen(app)
    assert.notStrictEqual((await fetch(`http://127.0.0.1:${port}/report`)).status, 200)
    await app.close()
  })

  it("cannot be forgotten", async () => {
    const failure = await build(host, { controllers: [ReportController] }).catch((error: unknown) => error)
    assert.match(String(failure), /Nest can't resolve dependencies of the PaymentGuard|PaymentRoutes/)
  })

  it("does not start with a mistake in its options", async () => {
    const options = { ...shopOptions(new TestFacilitator()), origin: "shop.example" }
    const app = await build(host, { imports: [PaymentModule.forRoot(options)], controllers: [ReportController] })
    const failure = await app.init().catch((error: unknown) => error)
    assert.instanceOf(failure, Misconfigured)
    assert.match(failure.message, /^origin: /)
    await app.close()
  })

  it("starts, closed, while the facilitator cannot be asked", async () => {
    const silent = Layer.succeed(
      Facilitator,
      Facilitator.of({
        verify: () => Effect.fail(new FacilitatorUnavailable({ message: "down" })),
        claim: () => Effect.fail(new FacilitatorUnavailable({ message: "down" })),
        settle: () => Effect.fail(new FacilitatorUnavailable({ message: "down" })),
        finish: () => Effect.fail(new FacilitatorUnavailable({ message: "down" })),
        payment: () => Effect.undefined,
        supported: Effect.fail(new FacilitatorUnavailable({ message: "down" }))
      })
    )
    const options = { ...shopOptions(new TestFacilitator()), facilitator: silent }
    const app = await build(host, { imports: [PaymentModule.forRoot(options)], controllers: [ReportController] })
    const port = await listen(app)
    const response = await fetch(`http://127.0.0.1:${port}/report`, { headers: { "X-Payment": payment("n1") } })
    assert.strictEqual(response.status, 503)
    assert.strictEqual(response.headers.get("Cache-Control"), "no-store")
    assert.notStrictEqual(response.headers.get("Retry-After"), null)
    await app.close()
  })

  it("tells the application when its routes are proven", async () => {
    const facilitator = new TestFacilitator()
    const app = await create(host, { controllers: [ReportController], providers: [Readiness] }, facilitator)
    await app.init()
    await app.get(Readiness).routes.ready()
    const port = await listen(app)
    assert.strictEqual((await fetch(`http://127.0.0.1:${port}/report`)).status, 402)
    await app.close()
  })

  it("bears that a request ends after the shop has closed", async () => {
    const app = await start(host, { controllers: [ReportController] })
    const { release, running } = slowRun()
    const response = app.fetch("/slow", { headers: { "X-Payment": payment("n1"), Connection: "close" } })
    await running
    await app.app.get(PaymentRoutes).onApplicationShutdown()
    release()
    assert.strictEqual(await (await response).text(), "slow")
    await app.app.close()
    assert.deepStrictEqual(app.facilitator.reports, [])
  })

  it("reports what ends while the application closes", async () => {
    const app = await start(host, { controllers: [ReportController] })
    const { release, running } = slowRun()
    const response = app.fetch("/slow", { headers: { "X-Payment": payment("n1"), Connection: "close" } })
    await running
    const closed = app.app.close()
    release()
    assert.strictEqual(await (await response).text(), "slow")
    await closed
    assert.deepStrictEqual(app.facilitator.reports, [{ paymentId: "n1", outcome: "served" }])
  })
})
