/**
 * The seller's dialect of the Machine Payments Protocol over MCP. For the gate a key of `_meta` is a header whose text is the
 * value's JSON, as for x402; a refusal puts its challenges into such a header.
 */
import * as Result from "effect/Result"

import { depthOf } from "../../protocol/text/JsonDepth.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { maximumHeaderBytes } from "../http/AsciiJson.ts"
import type { SellerDialect } from "../pontage/Dialect.ts"
import * as MppCredential from "./MppCredential.ts"
import * as MppMeta from "./MppMeta.ts"
import * as MppOffer from "./MppOffer.ts"
import * as MppProblem from "./MppProblem.ts"
import * as MppReceipt from "./MppReceipt.ts"
import * as MppText from "./MppText.ts"

const malformed = (detail: string, what: string) =>
  Result.fail(invalid("malformed", detail, `_meta["${MppMeta.credentialKey}"] ${what}; expected one credential`))

const readPayment: SellerDialect["readPayment"] = (text) => {
  if (text.length > maximumHeaderBytes) return malformed("too_long", `is longer than ${maximumHeaderBytes} bytes`)
  if (depthOf(text) > MppText.maximumDepth) {
    return malformed("too_deep", `is nested deeper than ${MppText.maximumDepth}`)
  }
  const value = Result.try((): unknown => JSON.parse(text))
  return Result.isSuccess(value) ? MppCredential.fromJson(value.success) : malformed("not_json", "is not JSON")
}

/** The dialect. */
export const mppMetaSeller: SellerDialect = {
  name: "the Machine Payments Protocol over MCP",
  paymentHeader: MppMeta.credentialKey,
  needsBinding: true,
  exposed: [],
  offersInBody: false,
  canOffer: MppOffer.isCharge,
  recognises: () => true,
  readPayment,
  refusal: (required, _order, { realm, status: httpStatus = 402 } = {}) => ({
    headers: {},
    body: undefined,
    personal: (retryToken, now) => {
      const problem = MppProblem.of(required, httpStatus)
      const challenges = MppOffer.challenges(required, realm).map((offered) =>
        Object.assign(MppOffer.parameters(offered, retryToken), {
          request: offered.request,
          expires: MppOffer.instant(now + offered.seconds * 1000)
        })
      )
      const data: MppRefusalData & { readonly challenges: typeof challenges } = {
        httpStatus,
        challenges,
        ...(!MppProblem.isUnpaid(problem) && { problem })
      }
      return { headers: { [MppMeta.requiredKey]: JSON.stringify(data) }, body: data }
    }
  }),
  receiptHeaders: (settlement, facts) => ({
    [MppMeta.receiptKey]: JSON.stringify(MppReceipt.of(settlement, facts))
  })
}

/** The data of a refusal. */
export interface MppRefusalData {
  readonly httpStatus: number
  readonly problem?: MppProblem.MppProblem
}

/** Whether a value of a result's `_meta` is these data: a tool may write anything there. */
export const isData = (value: unknown): value is MppRefusalData =>
  typeof value === "object" && value !== null && "httpStatus" in value && "challenges" in value

/** The code of the error that carries a refusal's data. */
export const codeOf = ({ httpStatus, problem }: MppRefusalData): number => {
  if (httpStatus !== 402) return MppMeta.codes.internal
  if (problem === undefined) return MppMeta.codes.required
  return MppProblem.isMalformed(problem) ? MppMeta.codes.malformed : MppMeta.codes.refused
}
