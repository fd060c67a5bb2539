/**
 * LayerZero version 2 on a local chain, as published: the endpoint, the message libraries, one verifier network (DVN), the executor,
 * and their prices. The verifier's only key is a local one, and so is the executor's: `LayerZeroRelay` is both.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import { type Address, parseEther, zeroAddress } from "viem"

import * as ContractCall from "./ContractCall.ts"
import * as LayerZeroPackages from "./LayerZeroPackages.ts"

/** The endpoint ids of both chains, and the verifier's key. */
export interface Options {
  readonly eid: number
  readonly remote: number
  readonly attester: Address
}

/** The contracts of one chain. */
export interface LayerZero extends Options {
  readonly chain: EvmTestChain.Shape
  readonly endpoint: Address
  readonly receiveLibrary: Address
  readonly dvn: Address
  readonly executor: Address
  /** Sets the price of the other chain's gas, in wei: a message costs in proportion to it. */
  readonly priceGas: (wei: bigint) => Effect.Effect<void>
}

/** Blocks on the first chain before the verifier attests a message. */
export const confirmations = 2n

/** The price of the other chain's gas at the start, in wei. */
export const gasPrice = 10n ** 9n
/** The ratio of prices of two coins that are worth the same. */
const sameWorth = 10n ** 20n

const libraries = ["sendLibrary", "receiveLibrary"] as const
const ulnConfigs =
  "function setDefaultUlnConfigs((uint32 eid, (uint64 confirmations, uint8 requiredDVNCount, uint8 optionalDVNCount, uint8 optionalDVNThreshold, address[] requiredDVNs, address[] optionalDVNs) config)[] params)"

/** Deploys and configures all of it. */
export const make = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  { attester, eid, remote }: Options
): Effect.fn.Return<LayerZero> {
  const owner = chain.accounts.deployer.address
  const code = LayerZeroPackages.protocol()
  const { deploy, write } = ContractCall
  const endpoint = yield* deploy(chain, code.endpoint, "constructor(uint32 eid, address owner)", [eid, owner])
  const sending = "constructor(address endpoint, uint256 treasuryGasLimit, uint256 treasuryGasForFeeCap)"
  const sendLibrary = yield* deploy(chain, code.sendLibrary, sending, [endpoint, 5_000n, 0n])
  const receiveLibrary = yield* deploy(chain, code.receiveLibrary, "constructor(address endpoint)", [endpoint])
  const prices = yield* deploy(chain, code.prices)
  yield* write(chain, prices, "function initialize(address updater)", [owner])
  const priceGas = (wei: bigint) =>
    Effect.asVoid(
      write(
        chain,
        prices,
        "function setPrice((uint32 eid, (uint128 priceRatio, uint64 gasPriceInUnit, uint32 gasPerByte) price)[] prices)",
        [
          [remote % 30_000, remote].map((one) => ({
            eid: one,
            price: { priceRatio: sameWorth, gasPriceInUnit: wei, gasPerByte: 16 }
          }))
        ]
      )
    )
  yield* priceGas(gasPrice)
  yield* write(chain, prices, "function setNativeTokenPriceUSD(uint128 price)", [3_000n * sameWorth])
  const executor = yield* makeExecutor(chain, { endpoint, sendLibrary, prices, eid, remote })
  const dvn = yield* makeVerifier(chain, [sendLibrary, receiveLibrary], { prices, eid, remote, attester })
  const treasury = yield* deploy(chain, code.treasury)
  yield* write(chain, sendLibrary, "function setTreasury(address treasury)", [treasury])
  const uln = {
    confirmations,
    requiredDVNCount: 1,
    optionalDVNCount: 0,
    optionalDVNThreshold: 0,
    requiredDVNs: [dvn],
    optionalDVNs: []
  }
  const at = { sendLibrary, receiveLibrary }
  for (const name of libraries) {
    yield* write(chain, at[name], ulnConfigs, [[{ eid: remote, config: uln }]])
    yield* write(chain, endpoint, "function registerLibrary(address library)", [at[name]])
  }
  yield* write(
    chain,
    sendLibrary,
    "function setDefaultExecutorConfigs((uint32 eid, (uint32 maxMessageSize, address executor) config)[] params)",
    [[{ eid: remote, config: { maxMessageSize: 10_000, executor } }]]
  )
  yield* write(chain, endpoint, "function setDefaultSendLibrary(uint32 eid, address library)", [remote, sendLibrary])
  const receiving = "function setDefaultReceiveLibrary(uint32 eid, address library, uint256 gracePeriod)"
  yield* write(chain, endpoint, receiving, [remote, receiveLibrary, 0n])
  return { chain, attester, eid, remote, endpoint, receiveLibrary, dvn, executor, priceGas }
})

interface Priced {
  readonly prices: Address
  readonly eid: number
  readonly remote: number
}

const setFees = "function setWorkerFeeLib(address library)"

const makeExecutor = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  { eid, endpoint, prices, remote, sendLibrary }: Priced & Record<"endpoint" | "sendLibrary", Address>
) {
  const owner = chain.accounts.deployer.address
  const code = LayerZeroPackages.protocol()
  const { deploy, write } = ContractCall
  const executor = yield* deploy(chain, code.executor)
  const rates = [eid, 10n ** 18n]
  const fees = yield* deploy(chain, code.executorFees, "constructor(uint32 eid, uint256 nativeDecimalsRate)", rates)
  yield* write(
    chain,
    executor,
    "function initialize(address endpoint, address receiveUln301, address[] messageLibs, address priceFeed, address roleAdmin, address[] admins)",
    [endpoint, zeroAddress, [sendLibrary], prices, owner, [owner]]
  )
  yield* write(chain, executor, setFees, [fees])
  yield* write(
    chain,
    executor,
    "function setDstConfig((uint32 dstEid, uint64 lzReceiveBaseGas, uint64 lzComposeBaseGas, uint16 multiplierBps, uint128 floorMarginUSD, uint128 nativeCap)[] params)",
    [
      [
        {
          dstEid: remote,
          lzReceiveBaseGas: 50_000n,
          lzComposeBaseGas: 50_000n,
          multiplierBps: 12_000,
          floorMarginUSD: 0n,
          nativeCap: parseEther("1")
        }
      ]
    ]
  )
  return executor
})

const makeVerifier = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  messageLibraries: ReadonlyArray<Address>,
  { attester, eid, prices, remote }: Priced & { readonly attester: Address }
) {
  const code = LayerZeroPackages.protocol()
  const { deploy, write } = ContractCall
  const rates = [eid, 10n ** 18n]
  const fees = yield* deploy(chain, code.dvnFees, "constructor(uint32 eid, uint256 nativeDecimalsRate)", rates)
  const dvn = yield* deploy(
    chain,
    code.dvn,
    "constructor(uint32 eid, uint32 vid, address[] messageLibs, address priceFeed, address[] signers, uint64 quorum, address[] admins)",
    [eid, eid, messageLibraries, prices, [attester], 1n, [chain.accounts.deployer.address]]
  )
  yield* write(chain, dvn, setFees, [fees])
  yield* write(
    chain,
    dvn,
    "function setDstConfig((uint32 dstEid, uint64 gas, uint16 multiplierBps, uint128 floorMarginUSD)[] params)",
    [[{ dstEid: remote, gas: 80_000n, multiplierBps: 12_000, floorMarginUSD: 0n }]]
  )
  return dvn
})
