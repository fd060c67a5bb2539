/**
 * A NestJS shop: the same report and free page, sold by a decorator.
 */
import { Controller, Get, type INestApplication, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { Settlement } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { Paid, Payment, PaymentModule } from "@pontage/nestjs"
import { paywall } from "@pontage/paywall"
import { exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"

import type { ShopOptions } from "./ShopOptions.ts"

export const nestShop = ({ evm, facilitator, origin, secret, ton, tron }: ShopOptions): Promise<INestApplication> => {
  const schemes = [
    exactEvm.server({ rpcUrl: evm.rpcUrl }),
    exactTon.server({ rpcUrl: ton.rpcUrl, network: "ton:local" }),
    exactTron.server({ rpcUrl: tron.rpcUrl, network: "tron:local" })
  ]

  // The request and the response of the route, for the documents that tell programs what is sold.
  const call = {
    input: {},
    output: { schema: { type: "object", properties: { report: { type: "string" }, paidBy: { type: "string" } } } }
  }

  @Controller()
  class ReportController {
    @Get()
    home() {
      return "Ask for /report (0.01 dollar)\n"
    }

    @Get("report")
    @Paid({
      description: "The report",
      ...call,
      accepts: [
        { scheme: "exact", network: "eip155:31337", price: "$0.01", payTo: evm.payTo },
        { scheme: "exact", network: "ton:local", price: "$0.01", payTo: ton.payTo },
        { scheme: "exact", network: "tron:local", price: "$0.01", payTo: tron.payTo }
      ]
    })
    report(@Payment() payment: Settlement.Settlement) {
      return { report: "It will rain, and then it will not.", paidBy: payment.payer }
    }
  }

  @Module({
    imports: [
      PaymentModule.forRoot({
        origin,
        facilitator,
        secret,
        schemes,
        discovery: { title: "Reports" },
        paywall: paywall()
      })
    ],
    controllers: [ReportController]
  })
  class ShopModule {}

  return NestFactory.create(ShopModule, { logger: ["error", "warn"], abortOnError: false })
}
