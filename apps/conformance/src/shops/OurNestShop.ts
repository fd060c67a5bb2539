/**
 * Our shop on NestJS.
 */
import { Controller, Get, Inject, Module, Res } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { freePort } from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import { PaymentModule } from "@pontage/nestjs"
import * as Effect from "effect/Effect"
import type { Response } from "express"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"
import { routeOf, secret } from "./OurRoute.ts"

/** Opens it as long as the scope. It sells once it has proven its wiring. */
export const start = Effect.fnUntraced(function* (options: ShopOptions) {
  const port = options.port ?? (yield* freePort)
  const url = `http://127.0.0.1:${port}`
  const goods = Goods.make()
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const app = await NestFactory.create(moduleOf(options, options.origin ?? url, goods), {
        logger: false,
        abortOnError: false
      })
      await app.listen(port, "127.0.0.1")
      return app
    }),
    (app) => Effect.promise(() => app.close())
  )
  return { url, goods } satisfies Goods.Shop
})

const moduleOf = (options: ShopOptions, origin: string, goods: Goods.Goods) => {
  @Controller()
  class ReportController {
    readonly goods: Goods.Goods
    constructor(@Inject("goods") given: Goods.Goods) {
      this.goods = given
    }

    @Get("report")
    report(@Res({ passthrough: true }) response: Response) {
      return this.deliver("/report", response)
    }

    @Get("other")
    other(@Res({ passthrough: true }) response: Response) {
      return this.deliver("/other", response)
    }

    @Get("flaky")
    flaky(@Res({ passthrough: true }) response: Response) {
      return this.deliver("/flaky", response)
    }

    private deliver(path: Goods.Path, response: Response) {
      const { body, status } = this.goods.deliver(path)
      response.status(status)
      return body
    }
  }

  const { facilitator, rpcUrl } = options
  const routes = Object.fromEntries(Object.values(Goods.paths).map((path) => [`GET ${path}`, routeOf(options)]))
  @Module({
    imports: [PaymentModule.forRoot({ origin, facilitator, secret, schemes: [exactEvm.server({ rpcUrl })], routes })],
    controllers: [ReportController],
    providers: [{ provide: "goods", useValue: goods }]
  })
  class ShopModule {}
  return ShopModule
}
