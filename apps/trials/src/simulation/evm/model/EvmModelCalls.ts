/**
 * `eth_call` on a modelled chain.
 */
import { EvmAddress, EvmHex } from "@pontage/evm"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmModelBlock from "./EvmModelBlock.ts"
import type { ModelBlock, ModelWorld } from "./EvmModelBlock.ts"
import * as EvmModelRun from "./EvmModelRun.ts"
import * as EvmModelState from "./EvmModelState.ts"
import * as GasMeter from "./GasMeter.ts"
import type { NodeRefusal } from "./NodeDialect.ts"

/** The result of a call: its return data, its revert data, or the reason that it was not run. */
export type CallResult = Result.Result<EvmHex.Hex, { readonly reverted: EvmHex.Hex } | NodeRefusal>

const Call = Schema.Struct({
  from: Schema.optionalKey(EvmAddress.FromNode),
  to: Schema.optionalKey(Schema.NullOr(EvmAddress.FromNode)),
  data: Schema.optionalKey(EvmHex.Hex),
  gas: Schema.optionalKey(EvmHex.Quantity),
  maxFeePerGas: Schema.optionalKey(EvmHex.Quantity),
  maxPriorityFeePerGas: Schema.optionalKey(EvmHex.Quantity)
})
const decodeCall = Schema.decodeUnknownSync(Call)
const decodePretended = Schema.decodeUnknownSync(Schema.Struct({ time: Schema.optionalKey(EvmHex.Quantity) }))

/** Runs a call on the state of a block. `pretended` are other properties of the block than its own. */
export const call = (world: ModelWorld, block: ModelBlock, parameter: unknown, pretended: unknown): CallResult => {
  const { data = "0x", from = EvmAddress.zero, gas = world.blockGas, maxFeePerGas, to } = decodeCall(parameter)
  const time = decodePretended(pretended ?? {}).time ?? block.time
  const balance = block.state.get(EvmModelState.coinOf(from)) ?? 0n
  const cost = gas * (maxFeePerGas ?? 0n)
  if (balance < cost) return Result.fail({ _tag: "InsufficientFunds", balance, cost })
  const intrinsic = GasMeter.intrinsic(data)
  if (gas < intrinsic) return Result.fail({ _tag: "CallGasTooLow" })
  const meter = GasMeter.make(intrinsic)
  const draft = EvmModelState.draft(block.state)
  const setting = EvmModelBlock.settingOf(world, block.state, { draft, gas: meter, caller: from, time })
  const end = EvmModelRun.run(world.contracts, setting, { to: to ?? undefined, data, gas })
  if (end.reverted) return Result.fail({ reverted: end.data })
  return meter.used() > gas ? Result.fail({ _tag: "OutOfGas" }) : Result.succeed(end.data)
}
