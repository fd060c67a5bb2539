/**
 * The facilitator's own contracts: their addresses, which are the same on every chain, and their deployment.
 */
import { BridgeRouter } from "../artifacts/BridgeRouter.ts"
import { CctpRouter } from "../artifacts/CctpRouter.ts"
import { CounterfactualSettler } from "../artifacts/CounterfactualSettler.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as BatchSettling from "./BatchSettling.ts"
import * as ContractDeployment from "./ContractDeployment.ts"
import * as OperationSettling from "./OperationSettling.ts"
import * as PermitSettling from "./PermitSettling.ts"

/** The contract that deploys a payer's account and submits its transfer in one transaction. */
export const counterfactualSettler: OwnContract = {
  name: "counterfactual settler",
  deployedBy: "deployCounterfactualSettler",
  artifact: CounterfactualSettler
}

/** The contract that sends payers' money to another chain over LayerZero. */
export const bridgeRouter: OwnContract = {
  name: "bridge router",
  deployedBy: "deployBridgeRouter",
  artifact: BridgeRouter
}

/** The contract that sends payers' dollars to another chain over Circle's CCTP. */
export const cctpRouter: OwnContract = {
  name: "CCTP router",
  deployedBy: "deployCctpRouter",
  artifact: CctpRouter
}

const addressOf = (contract: OwnContract): string => EvmAddress.checksum(ContractDeployment.addressOf(contract))

/** The address of the contract that {@link deployBatchSettler} makes; with its checksum. */
export const batchSettlerAddress: string = /* @__PURE__ */ addressOf(BatchSettling.contract)

/** The address of the contract that {@link deployBridgeRouter} makes; with its checksum. */
export const bridgeRouterAddress: string = /* @__PURE__ */ addressOf(bridgeRouter)

/** The address of the contract that {@link deployCctpRouter} makes; with its checksum. */
export const cctpRouterAddress: string = /* @__PURE__ */ addressOf(cctpRouter)

/** The address of the contract that {@link deployCounterfactualSettler} makes; with its checksum. */
export const counterfactualSettlerAddress: string = /* @__PURE__ */ addressOf(counterfactualSettler)

/** The address of the contract that {@link deployOpSettler} makes; with its checksum. */
export const opSettlerAddress: string = /* @__PURE__ */ addressOf(OperationSettling.contract)

/** The address of the contract that {@link deployPaymentGuard} makes; with its checksum. */
export const paymentGuardAddress: string = /* @__PURE__ */ addressOf(GuardContract.contract)

/** The address of the contract that {@link deployPermitSettler} makes; with its checksum. */
export const permitSettlerAddress: string = /* @__PURE__ */ addressOf(PermitSettling.contract)

/** Deploys the batch settler (`ContractDeployment.deploy`). */
export const deployBatchSettler = /* @__PURE__ */ ContractDeployment.deploy(BatchSettling.contract)

/** Deploys the bridge router (`ContractDeployment.deploy`). */
export const deployBridgeRouter = /* @__PURE__ */ ContractDeployment.deploy(bridgeRouter)

/** Deploys the CCTP router (`ContractDeployment.deploy`). */
export const deployCctpRouter = /* @__PURE__ */ ContractDeployment.deploy(cctpRouter)

/** Deploys the counterfactual settler (`ContractDeployment.deploy`). */
export const deployCounterfactualSettler = /* @__PURE__ */ ContractDeployment.deploy(counterfactualSettler)

/** Deploys the operation settler (`ContractDeployment.deploy`). */
export const deployOpSettler = /* @__PURE__ */ ContractDeployment.deploy(OperationSettling.contract)

/** Deploys the payment guard (`ContractDeployment.deploy`). */
export const deployPaymentGuard = /* @__PURE__ */ ContractDeployment.deploy(GuardContract.contract)

/** Deploys the permit settler (`ContractDeployment.deploy`). */
export const deployPermitSettler = /* @__PURE__ */ ContractDeployment.deploy(PermitSettling.contract)
