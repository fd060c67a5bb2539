/**
 * The facilitator's own contracts: their addresses, which are the same on every chain, and their deployment.
 */
import { CounterfactualSettler } from "../artifacts/CounterfactualSettler.ts"
import { PaymentGuard } from "../artifacts/PaymentGuard.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as BatchSettling from "./BatchSettling.ts"
import * as ContractDeployment from "./ContractDeployment.ts"
import * as OperationSettling from "./OperationSettling.ts"

/** The contract that deploys a payer's account and submits its transfer in one transaction. */
export const counterfactualSettler: ContractDeployment.OwnContract = {
  name: "counterfactual settler",
  deployedBy: "deployCounterfactualSettler",
  artifact: CounterfactualSettler
}

/** The contract that ends the validity of a user operation. */
export const paymentGuard: ContractDeployment.OwnContract = {
  name: "payment guard",
  deployedBy: "deployPaymentGuard",
  artifact: PaymentGuard
}

const addressOf = (contract: ContractDeployment.OwnContract): string =>
  EvmAddress.checksum(ContractDeployment.addressOf(contract))

/** The address of the contract that {@link deployBatchSettler} makes; with its checksum. */
export const batchSettlerAddress: string = /* @__PURE__ */ addressOf(BatchSettling.contract)

/** The address of the contract that {@link deployCounterfactualSettler} makes; with its checksum. */
export const counterfactualSettlerAddress: string = /* @__PURE__ */ addressOf(counterfactualSettler)

/** The address of the contract that {@link deployOpSettler} makes; with its checksum. */
export const opSettlerAddress: string = /* @__PURE__ */ addressOf(OperationSettling.contract)

/** The address of the contract that {@link deployPaymentGuard} makes; with its checksum. */
export const paymentGuardAddress: string = /* @__PURE__ */ addressOf(paymentGuard)

/** Deploys the batch settler (`ContractDeployment.deploy`). */
export const deployBatchSettler = /* @__PURE__ */ ContractDeployment.deploy(BatchSettling.contract)

/** Deploys the counterfactual settler (`ContractDeployment.deploy`). */
export const deployCounterfactualSettler = /* @__PURE__ */ ContractDeployment.deploy(counterfactualSettler)

/** Deploys the operation settler (`ContractDeployment.deploy`). */
export const deployOpSettler = /* @__PURE__ */ ContractDeployment.deploy(OperationSettling.contract)

/** Deploys the payment guard (`ContractDeployment.deploy`). */
export const deployPaymentGuard = /* @__PURE__ */ ContractDeployment.deploy(paymentGuard)
