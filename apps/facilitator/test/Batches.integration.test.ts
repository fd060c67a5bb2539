/** The batch settler deployed by the service's own command, and the service as a process that settles by it. */
import { existsSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import {
  batchSettlerAddress,
  bridgeRouterAddress,
  counterfactualSettlerAddress,
  opSettlerAddress,
  paymentGuardAddress,
  permitSettlerAddress
} from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestPayment from "./TestPayment.ts"

const payers = Array.from({ length: 100 }, (_, index) => index)

/** Output of `deploy-settler`, and its exit code. */
const deploy = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const { exited, output } = yield* ServiceProcess.run(environment, ["deploy-settler"])
  return { code: yield* exited, said: output.join("") }
})

describe("payments that travel together", () => {
  layer(EvmTestChain.layer({ payers: payers.length }), { excludeTestServices: true })((it) => {
    it.effect("need the contract, which a command deploys where it may, and finds where it is", () =>
      Effect.gen(function* () {
        const { accounts, client, network, rpcUrl } = yield* EvmTestChain.EvmTestChain
        const [, signer] = accounts.signers
        const environment = { PONTAGE_EVM_RPC_URL: rpcUrl, PONTAGE_EVM_SIGNER_KEY: signer.privateKey }
        const together = { ...environment, PORT: "0", PONTAGE_EVM_BATCH_SETTLER: batchSettlerAddress }
        const early = yield* ServiceProcess.run(together)
        assert.strictEqual(yield* early.exited, 1)
        assert.include(early.output.join(""), `the code at ${batchSettlerAddress} on ${network} is missing`)
        const sent = Effect.promise(() => client.getTransactionCount(signer))
        for (const [wrong, words] of [
          [{ PONTAGE_EVM_NETWORK: "eip155:8453" }, `the node for eip155:8453 serves ${network}`],
          [{ PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: "1" }, "costs more than the 1 wei that maxFeePerGas allows"],
          [
            { PONTAGE_EVM_SIGNER_KEY: `0x${"0".repeat(64)}` },
            "PONTAGE_EVM_SIGNER_KEY: the first key is not a valid private key"
          ]
        ] as const) {
          const { code, said } = yield* deploy({ ...environment, ...wrong })
          assert.strictEqual(code, 1)
          assert.include(said, words)
          assert.notInclude(said, signer.privateKey.slice(2))
        }
        assert.strictEqual(yield* sent, 0)
        for (const _ of ["deployed", "found"]) {
          const { code, said } = yield* deploy(environment)
          assert.strictEqual(
            said,
            `the batch settler is at ${batchSettlerAddress} on ${network}\n` +
              `the counterfactual settler is at ${counterfactualSettlerAddress} on ${network}\n` +
              `the operation settler is at ${opSettlerAddress} on ${network}\n` +
              `the payment guard is at ${paymentGuardAddress} on ${network}\n` +
              `the permit settler is at ${permitSettlerAddress} on ${network}\n`
          )
          assert.strictEqual(code, 0)
          assert.strictEqual(yield* sent, 5)
        }
        // The router is for payments that go on to other networks, and is deployed where the settings have those.
        const far = [{ network: "polygon", rpcUrl: "http://127.0.0.1:9", coinPrice: "300000" }]
        const { code, said } = yield* deploy({
          ...environment,
          PONTAGE_EVM_ROUTES_TO: JSON.stringify(far),
          PONTAGE_EVM_ROUTES_COIN_PRICE: "3000000000",
          PONTAGE_EVM_DELIVERY_SIGNER_KEY: accounts.stranger.privateKey
        })
        assert.isTrue(said.endsWith(`the bridge router is at ${bridgeRouterAddress} on ${network}\n`), said)
        assert.strictEqual(code, 0)
        assert.strictEqual(yield* sent, 6)
        const mistaken = yield* ServiceProcess.run(environment, ["deploy"])
        assert.strictEqual(yield* mistaken.exited, 1)
        assert.include(mistaken.output.join(""), "the only argument is deploy-settler")
      }).pipe(Effect.scoped)
    )

    it.effect("are settled for a hundred payers in a few transactions, and each is paid for once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { accounts, balanceOf, client: node } = chain
        const environment = {
          PORT: "0",
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_SIGNER_KEY: accounts.signers[0].privateKey,
          PONTAGE_EVM_BATCH_SETTLER: batchSettlerAddress,
          PONTAGE_EVM_BATCH_MAXIMUM: "50",
          PONTAGE_EVM_BATCH_WINDOW_MS: "2000"
        }
        const service = yield* ServiceProcess.run(environment)
        const client = yield* FacilitatorClient.make({ url: yield* service.url })
        const before = yield* balanceOf(accounts.payee.address)
        const requests = yield* Effect.forEach(payers, (payer) => TestPayment.sign(chain, payer))
        const settled = yield* Effect.forEach(
          requests,
          (request, index) => client.settle(request, TestPayment.claim(index)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          settled.map(({ execution, status }) => `${execution} ${status}`),
          payers.map(() => "granted included")
        )
        const transactions = new Set(settled.map(({ transaction }) => transaction))
        assert.isAtMost(transactions.size, 10)
        assert.strictEqual(
          yield* Effect.promise(() => node.getTransactionCount(accounts.signers[0])),
          transactions.size
        )
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 100n * TestPayment.amount)
        const moved = yield* chain.transfers()
        const paid = moved.filter(({ to }) => to === accounts.payee.address)
        assert.strictEqual(new Set(paid.map(({ from }) => from)).size, payers.length)
        assert.isTrue(existsSync(join(service.folder, "pontage-payments.sqlite")))
      }).pipe(Effect.scoped)
    )
  })
})
