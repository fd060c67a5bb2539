import { assert, describe, it } from "@effect/vitest"
import { ChannelConfig, ChannelDeposit, ChannelPayload, EvmAddress, EvmHex, Voucher } from "@pontage/evm"
import {
  computeChannelId,
  createBatchSettlementEIP3009DepositPayload,
  signVoucher
} from "@x402/evm/batch-settlement/client"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { bytesToHex, hashTypedData, type Hex, type TypedDataDefinition } from "viem"

const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
const amounts = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 128n - 1n))
const configs = fc.record({
  payer: addresses,
  payerAuthorizer: addresses,
  receiver: addresses,
  receiverAuthorizer: addresses,
  token: addresses,
  withdrawDelay: fc.integer({ min: 900, max: 2_592_000 }),
  salt: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes))
})

/** Signs nothing: "signatures" are the digests, so that both sides' can be compared. */
const hashing = (address: Hex) => ({
  address,
  signTypedData: async (data: unknown): Promise<Hex> => hashTypedData(data as TypedDataDefinition)
})

describe("channels of the published package", () => {
  it("have our ids, and vouchers and deposits with our digests, for 1000 channels", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 ** 40 }),
        configs,
        amounts,
        amounts,
        async (chainId, config, ceiling, amount) => {
          const network = `eip155:${chainId}` as const
          const id = ChannelConfig.id(chainId, config)
          assert.strictEqual(computeChannelId(config, network), id)
          const signer = hashing(config.payer)
          const { signature } = await signVoucher(signer, id, `${ceiling}`, network)
          const ours = Voucher.digest(chainId, { channelId: id, maxClaimableAmount: ceiling })
          assert.strictEqual(signature, EvmHex.fromBytes(ours))
          const requirements = {
            scheme: "batch-settlement",
            network,
            asset: config.token,
            amount: "1",
            payTo: config.receiver,
            maxTimeoutSeconds: 300,
            extra: { name: "USD Coin", version: "2" }
          }
          const { payload } = await createBatchSettlementEIP3009DepositPayload(
            signer,
            2,
            requirements,
            ChannelConfig.onWire(config),
            `${amount}`,
            `${ceiling}`
          )
          const read = await Effect.runPromise(ChannelPayload.decode(payload))
          if (read.type !== "deposit") return assert.fail(`read as ${read.type}`)
          assert.deepStrictEqual(read.channelConfig, config)
          assert.strictEqual(await Effect.runPromise(ChannelPayload.channelId(chainId, read)), id)
          const deposit = read.deposit.authorization.erc3009Authorization
          if (deposit === undefined) return assert.fail("no authorization")
          const domain = { name: "USD Coin", version: "2", chainId, verifyingContract: config.token }
          const terms = ChannelDeposit.authorization(id, config.payer, amount, deposit)
          assert.strictEqual(deposit.signature, EvmHex.fromBytes(ChannelDeposit.receiveDigest(domain, terms)))
          assert.strictEqual(read.deposit.amount, amount)
          return undefined
        }
      ),
      { numRuns: 1000 }
    )
  })
})
