/** An offer and a settlement in the words of Pontage's own protocol, for the tests of both sides. */
import * as Network from "../../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../../src/protocol/PaymentRequirements.ts"

export const settlement = {
  success: true,
  transaction: "0xabc",
  network: "eip155:8453",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  amount: "10000",
  paymentId: "pay_0123456789abcdefghijkl"
} as const

export const offer: PaymentRequirements = {
  scheme: "exact",
  network: Network.make("eip155:8453"),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
}
