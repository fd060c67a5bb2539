/**
 * The endpoints that read the chain: `wallet/` reads the head with the pending transactions, `walletsolidity/` the solidified
 * blocks and transactions.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { DevBlock } from "../ledger/DevBlock.ts"
import type { DevChain, Found } from "../ledger/DevChain.ts"
import { availableOf } from "../ledger/SystemContracts.ts"
import { delegationKey } from "../ledger/TronLedger.ts"
import * as TronContract from "../messages/TronContract.ts"
import * as TronMessage from "../messages/TronMessage.ts"
import * as TronMessageTable from "../messages/TronMessageTable.ts"
import * as NodeAddress from "./NodeAddress.ts"
import type { Endpoint, Endpoints } from "./NodeEndpoint.ts"
import { endpoint } from "./NodeEndpoint.ts"
import * as NodeResponses from "./NodeResponses.ts"

/** Blocks on top of the newest solidified one: two thirds of 27 witnesses. */
const solidDepth = 18

const visible = Schema.Union([Schema.Boolean, Schema.Literals(["true", "false"])]).pipe(
  Schema.withDecodingDefaultKey(Effect.succeed(false))
)
const isVisible = (visible: boolean | string) => visible === true || visible === "true"
const text = Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("")))
const textOrNumber = Schema.Union([Schema.String, Schema.Finite]).pipe(
  Schema.withDecodingDefaultKey(Effect.succeed(""))
)

const OfAddress = Schema.Struct({ address: text, visible })
const OfValue = Schema.Struct({ value: text, visible })
const OfBlock = Schema.Struct({ id_or_num: textOrNumber, detail: visible, visible })
const OfPair = Schema.Struct({ fromAddress: text, toAddress: text, visible })

/** The number of the newest solidified block. */
export const solidNumber = (chain: DevChain): number => Math.max(0, chain.head.number - solidDepth)

const hexOf = (address: string) => NodeAddress.toHex(address) ?? ""

/** The reading endpoints, by name. */
export const make = (chain: DevChain): Endpoints => ({ ...blocks(chain), ...transactions(chain), ...accounts(chain) })

const newest = (chain: DevChain, solid: boolean): DevBlock | undefined =>
  solid ? chain.blocks[solidNumber(chain)] : chain.head

const blockOf = (chain: DevChain, idOrNumber: string | number, solid: boolean): DevBlock | undefined => {
  const key = `${idOrNumber}`
  const found =
    key === ""
      ? newest(chain, solid)
      : /^\d{1,15}$/.test(key)
        ? chain.blocks[Number(key)]
        : chain.blocks.find(({ id }) => id === key)
  return found === undefined || (solid && found.number > solidNumber(chain)) ? undefined : found
}

const blockResponse = (found: DevBlock | undefined, detailed: boolean, shown: boolean): NodeResponses.Json =>
  found === undefined ? {} : NodeResponses.block(found, detailed, shown)

const blocks = (chain: DevChain): Endpoints => {
  const byNumber = Schema.Struct({ num: textOrNumber, visible })
  return {
    getnowblock: endpoint(Schema.Struct({ visible }), (request, solid) =>
      blockResponse(newest(chain, solid), true, isVisible(request.visible))
    ),
    getblock: endpoint(OfBlock, (request, solid) =>
      blockResponse(blockOf(chain, request.id_or_num, solid), isVisible(request.detail), isVisible(request.visible))
    ),
    getblockbynum: endpoint(byNumber, (request, solid) =>
      blockResponse(blockOf(chain, request.num === "" ? 0 : request.num, solid), true, isVisible(request.visible))
    ),
    getblockbyid: endpoint(OfValue, (request, solid) =>
      blockResponse(
        request.value === "" ? undefined : blockOf(chain, request.value, solid),
        true,
        isVisible(request.visible)
      )
    ),
    getblockbylatestnum: endpoint(byNumber, (request) => ({
      block: chain.blocks
        .slice(-Math.max(1, Math.min(100, Number(request.num) || 1)))
        .map((each) => NodeResponses.block(each, true, isVisible(request.visible)))
    }))
  }
}

const transactions = (chain: DevChain): Endpoints => {
  const find = (id: string, solid: boolean): Found | undefined => {
    const found = chain.find(id)
    return solid && (found?.block === undefined || found.block.number > solidNumber(chain)) ? undefined : found
  }
  return {
    gettransactionbyid: endpoint(OfValue, ({ value, visible: flag }, solid) => {
      const found = find(value, solid)
      return found === undefined ? {} : NodeResponses.transaction(found, isVisible(flag))
    }),
    gettransactioninfobyid: endpoint(OfValue, ({ value }, solid) => {
      const found = find(value, solid)
      return found?.block === undefined ? {} : NodeResponses.information(found, found.block)
    }),
    gettransactioninfobyblocknum: endpoint(Schema.Struct({ num: textOrNumber }), ({ num }, solid) => {
      const found = blockOf(chain, num, solid)
      return (found?.transactions ?? []).map((each) =>
        found === undefined ? {} : NodeResponses.information({ ...each, block: found }, found)
      )
    }),
    gettransactionlistfrompending: endpoint(Schema.Struct({}), () => ({ txId: chain.waiting }))
  }
}

const accounts = (chain: DevChain): Endpoints => {
  const { ledger } = chain
  const resources: Endpoint = endpoint(OfAddress, ({ address }) => {
    const found = ledger.accounts.get(hexOf(address))
    return found === undefined ? {} : NodeResponses.resources(found, ledger.parameters, chain.now())
  })
  return {
    getaccount: endpoint(OfAddress, ({ address, visible: flag }) => {
      const found = ledger.accounts.get(hexOf(address))
      return found === undefined ? {} : NodeResponses.account(found, chain.now(), isVisible(flag))
    }),
    getaccountresource: resources,
    getaccountnet: resources,
    ...contracts(chain),
    ...delegations(chain),
    getchainparameters: endpoint(Schema.Struct({}), () => NodeResponses.parameters(ledger.parameters)),
    getenergyprices: endpoint(Schema.Struct({}), () => ({ prices: `0:${ledger.parameters.energyFee}` })),
    getbandwidthprices: endpoint(Schema.Struct({}), () => ({ prices: `0:${ledger.parameters.transactionFee}` })),
    getnodeinfo: endpoint(Schema.Struct({}), () => ({
      block: `Num:${chain.head.number},ID:${chain.head.id}`,
      solidityBlock: `Num:${solidNumber(chain)},ID:${newest(chain, true)?.id ?? ""}`,
      configNodeInfo: { codeVersion: "4.8.0" }
    }))
  }
}

const contracts = ({ ledger }: DevChain): Endpoints => ({
  getcontract: endpoint(OfValue, ({ value, visible: flag }) => {
    const found = ledger.contracts.get(hexOf(value))
    if (found === undefined) return {}
    return {
      ...NodeResponses.present({
        origin_address: NodeAddress.shown(found.origin, isVisible(flag)),
        contract_address: NodeAddress.shown(found.address, isVisible(flag)),
        bytecode: found.bytecode,
        name: found.name
      }),
      abi: TronMessage.toJson(TronMessageTable.abi, found.abi, isVisible(flag)),
      consume_user_resource_percent: 100
    }
  }),
  getcontractinfo: endpoint(OfValue, ({ value, visible: flag }) => {
    const found = ledger.contracts.get(hexOf(value))
    if (found === undefined) return {}
    return {
      smart_contract: { contract_address: NodeAddress.shown(found.address, isVisible(flag)) },
      contract_state: NodeResponses.present({ energy_factor: found.energyFactor })
    }
  })
})

const delegations = (chain: DevChain): Endpoints => {
  const { ledger } = chain
  const OfOwner = Schema.Struct({ owner_address: text, type: Schema.optionalKey(Schema.Finite) })
  return {
    getdelegatedresourcev2: endpoint(OfPair, ({ fromAddress, toAddress, visible: flag }) => {
      const [from, to] = [hexOf(fromAddress), hexOf(toAddress)]
      const [net, energy] = TronContract.Resource.literals.map(
        (resource) => ledger.delegations.get(delegationKey(from, to, resource)) ?? 0n
      )
      if (net === 0n && energy === 0n) return {}
      const shown = { from: NodeAddress.shown(from, isVisible(flag)), to: NodeAddress.shown(to, isVisible(flag)) }
      const balances = { frozen_balance_for_bandwidth: net, frozen_balance_for_energy: energy }
      return { delegatedResource: [{ ...shown, ...NodeResponses.present(balances) }] }
    }),
    getdelegatedresourceaccountindexv2: endpoint(OfValue, ({ value, visible: flag }) =>
      delegationIndex(chain, hexOf(value), isVisible(flag))
    ),
    getcandelegatedmaxsize: endpoint(OfOwner, ({ owner_address: owner, type }) => {
      const account = ledger.accounts.get(hexOf(owner))
      const resource = type === 1 ? "ENERGY" : "BANDWIDTH"
      return account === undefined
        ? {}
        : NodeResponses.present({ max_size: availableOf(ledger, account, resource, chain.now()) })
    })
  }
}

const delegationIndex = ({ ledger }: DevChain, address: string, shown: boolean): NodeResponses.Json => {
  const pairs = [...ledger.delegations.keys()]
    .filter((key) => (ledger.delegations.get(key) ?? 0n) > 0n)
    .map((key) => key.split(" "))
  const names = (from: number, to: number) => {
    const found = pairs.filter((pair) => pair[from] === address).map((pair) => pair[to] ?? "")
    return [...new Set(found)].map((each) => NodeAddress.shown(each, shown))
  }
  const [toAccounts, fromAccounts] = [names(0, 1), names(1, 0)]
  return {
    account: NodeAddress.shown(address, shown),
    ...(fromAccounts.length > 0 && { fromAccounts }),
    ...(toAccounts.length > 0 && { toAccounts })
  }
}
