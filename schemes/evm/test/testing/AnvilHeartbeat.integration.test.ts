import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { numberToHex, parseGwei } from "viem"

import { EvmTestChain } from "../../src/testing/index.ts"

describe("a node that has an account's next transaction wait for one that is mined", () => {
  it.live("mines it and all later ones all the same", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { accounts, chainId, client, receipt, request } = yield* EvmTestChain.make()
        const [account] = accounts.signers
        const send = (nonce: number) =>
          Effect.promise(async () => {
            const serializedTransaction = await account.signTransaction({
              chainId,
              type: "eip1559",
              nonce,
              to: account.address,
              gas: 21_000n,
              maxFeePerGas: parseGwei("100"),
              maxPriorityFeePerGas: 1n
            })
            return client.sendRawTransaction({ serializedTransaction })
          })
        const hashes = yield* Effect.forEach([9, 8, 10], send)
        // Reproduces on request what the node does when a transaction arrives at a bad moment.
        yield* request("anvil_setNonce", [account.address, numberToHex(8)])
        const receipts = yield* Effect.forEach(hashes, receipt)
        assert.isTrue(receipts.every(({ status }) => status === "success"))
      })
    )
  )
})
