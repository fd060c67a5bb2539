/** New payments, for tests in several processes. */
import { Network, type PaymentStore } from "@pontage/core"

export const network = Network.make("test:sql")
export const lane = `${network} signer-1`

export const payment = (
  name: string,
  { amount = 100n, payer = `payer of ${name}` }: { readonly amount?: bigint; readonly payer?: string } = {}
): PaymentStore.NewPayment => ({
  paymentId: `pay_${name}`,
  requirements: {
    scheme: "exact",
    network,
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: "shop",
    asset: "dollar"
  },
  authorization: {
    payer,
    payTo: "shop",
    asset: "dollar",
    amount,
    nonce: name,
    validAfter: 0,
    validBefore: 4_000_000_000,
    binding: undefined
  },
  payload: { signed: name },
  caller: "",
  notify: false
})

export const prepared = (number: bigint) => ({
  slot: { lane: "signer-1", number },
  transaction: `transaction ${number}`,
  bytes: `bytes ${number}`,
  head: 1n,
  cost: 10n
})
