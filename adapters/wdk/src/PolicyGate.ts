/**
 * The WDK's policies for payments on TON. The WDK enforces them in the methods of its accounts, and a payment on TON is signed
 * with the account's key beside these methods. So each payment is judged as the `transfer` that it is, before it is signed.
 */
import { type SchemeClient, SigningFailed, type SigningRequest } from "@pontage/core"
import { TonAddress } from "@pontage/ton"
import * as Effect from "effect/Effect"

import type { TonAccount, TransferOrder } from "./WdkAccount.ts"

/**
 * A scheme client that signs what the policies of the account allow as a `transfer`. An account without policies allows everything;
 * one whose policies cannot be asked, or name no decision, allows nothing.
 */
export const underPolicies = (account: TonAccount, client: SchemeClient): SchemeClient => ({
  ...client,
  sign: (request) => Effect.andThen(judged(account, request), client.sign(request))
})

const judged = Effect.fnUntraced(function* (
  { simulate }: TonAccount,
  request: SigningRequest
): Effect.fn.Return<void, SigningFailed> {
  if (simulate === undefined) return
  const order = orderOf(request)
  if (order === undefined) return yield* new SigningFailed({ message: "the offer's recipient is not a TON address" })
  const { decision, policy, reason } = yield* Effect.tryPromise({
    try: async () => {
      const { decision, policy_id: policy, reason } = await simulate.transfer(order)
      return { decision, policy, reason }
    },
    catch: (cause) => new SigningFailed({ message: "the WDK's policies could not be asked about the payment", cause })
  })
  if (decision === "ALLOW") return
  return yield* new SigningFailed({
    message: `the WDK's policy ${policy ?? "without an id"} does not allow the transfer: ${reason ?? "it gives no reason"}`
  })
})

/**
 * The payment as the parameters of `transfer`. Addresses have the forms that people give to a WDK: the recipient as its `getAddress`
 * writes it (`UQ…`), the token as explorers do (`EQ…`).
 */
const orderOf = ({ asset, requirements }: SigningRequest): TransferOrder | undefined => {
  const recipient = TonAddress.fromText(requirements.payTo)
  const token = TonAddress.fromText(asset.address)
  if (recipient === undefined || token === undefined) return undefined
  return {
    token: TonAddress.toCore(token).toString({ bounceable: true }),
    recipient: TonAddress.toCore(recipient).toString({ bounceable: false }),
    amount: BigInt(requirements.maxAmountRequired)
  }
}
