import "reflect-metadata"
import { Controller, Get, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { exactEvm } from "@pontage/evm"
import { Paid, PaymentModule } from "@pontage/nestjs"

const port = process.env["PORT"] ?? "3000"

@Controller()
class ReportController {
  @Get("report")
  @Paid({
    network: process.env["NETWORK"] ?? "eip155:31337",
    price: "$0.01",
    payTo: process.env["PAY_TO"] ?? "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
  })
  report() {
    return { report: "It will rain." }
  }
}

@Module({
  imports: [
    PaymentModule.forRoot({
      origin: process.env["ORIGIN"] ?? `http://127.0.0.1:${port}`,
      facilitator: process.env["FACILITATOR"] ?? "http://127.0.0.1:4021",
      secret: process.env["SECRET"] ?? "only for a first try: 32 characters",
      schemes: [exactEvm.server({ rpcUrl: process.env["RPC_URL"] ?? "http://127.0.0.1:8545" })]
    })
  ],
  controllers: [ReportController]
})
class ShopModule {}

export const app = await NestFactory.create(ShopModule)
await app.listen(Number(port), "127.0.0.1")
