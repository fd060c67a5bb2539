/**
 * A NestJS shop: the same report and free page, sold by a decorator.
 */
import { Controller, Get, type INestApplication, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { Settlement } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { Paid, Payment, PaymentModule } from "@pontage/nestjs"

import type { ShopOptions } from "./ShopOptions.ts"

export const nestShop = ({ facilitator, origin, payTo, rpcUrl, secret }: ShopOptions): Promise<INestApplication> => {
  @Controller()
  class ReportController {
    @Get()
    home() {
      return "Ask for /report (0.01 dollar)\n"
    }

    @Get("report")
    @Paid({ network: "eip155:31337", price: "$0.01", payTo, description: "The report" })
    report(@Payment() payment: Settlement.Settlement) {
      return { report: "It will rain, and then it will not.", paidBy: payment.payer }
    }
  }

  @Module({
    imports: [PaymentModule.forRoot({ origin, facilitator, secret, schemes: [exactEvm.server({ rpcUrl })] })],
    controllers: [ReportController]
  })
  class ShopModule {}

  return NestFactory.create(ShopModule, { logger: ["error", "warn"], abortOnError: false })
}
