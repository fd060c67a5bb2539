/**
 * The facilitator's HTTP API: its endpoints with their requests and responses. The OpenAPI document is generated from it.
 */
import { DrawsApi, FacilitatorApi, Settlement, X402ServerApiKinds } from "@pontage/core"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"

import { CallerAuthentication } from "../callers/CallerAuthentication.ts"
import * as ResourceList from "../discovery/ResourceList.ts"
import {
  TemporarilyUnavailableResponse,
  FinishRefused,
  Forbidden,
  NoDiscovery,
  TooManyRequestsResponse,
  UnknownPayment
} from "../http/FacilitatorFault.ts"
import * as PaymentExport from "../http/PaymentExport.ts"
import { RequestFaults } from "../http/RequestFaults.ts"
import { NotReady, ReadinessReport } from "../readiness/Readiness.ts"
import * as PresentedPayment from "./PresentedPayment.ts"

const described = (description: string) => OpenApi.annotations({ description })

const paymentId = { id: Schema.String.annotate({ description: "pay_ and 22 characters of base64url" }) }

/** `POST /verify`. */
export const verifying = { payload: PresentedPayment.VerifyRequest, success: PresentedPayment.VerifyResponse }

/** `POST /settle`. */
export const settling = { payload: PresentedPayment.SettleRequest, success: PresentedPayment.SettleResponse }

/** `POST /claims`. */
export const claiming = { payload: PresentedPayment.ClaimRequest, success: FacilitatorApi.SettleResponse }

/** `POST /payments/{id}/finish`. */
export const finishing = { payload: FacilitatorApi.FinishRequest, success: Settlement.PaymentRecord }

/** `POST /payments/finish`. */
export const finishingSeveral = { payload: FacilitatorApi.FinishesRequest, success: FacilitatorApi.FinishesResponse }

/** `POST /draws`. */
export const drawing = { payload: PresentedPayment.DrawsRequest, success: DrawsApi.DrawsResponse }

/** `POST /draws/{id}/windows`. */
export const reserving = { payload: DrawsApi.WindowRequest, success: DrawsApi.WindowResponse }

/** `POST /draws/{id}/renew`. */
export const renewing = { payload: DrawsApi.RenewRequest, success: DrawsApi.RenewResponse }

/** `POST /vouchers`. */
export const keeping = { payload: PresentedPayment.VoucherRequest, success: DrawsApi.VoucherResponse }

/** Endpoints for servers, with their API key where keys are used. */
class PaymentsGroup extends HttpApiGroup.make("payments")
  .add(
    HttpApiEndpoint.post("verify", "/verify", {
      ...verifying,
      error: [Forbidden, TooManyRequestsResponse, TemporarilyUnavailableResponse]
    }).annotateMerge(
      described(
        "Checks a payment and changes nothing. Every verdict has status 200. The response has the dialect of the request: this protocol (protocolVersion) or x402 (x402Version 1 or 2)."
      )
    ),
    HttpApiEndpoint.post("settle", "/settle", {
      ...settling,
      error: [Forbidden, TooManyRequestsResponse, TemporarilyUnavailableResponse]
    }).annotateMerge(
      described(
        "Verifies, claims and transfers. Idempotent by authorization. Every verdict has status 200; success: false without code and reason means that the outcome is not known yet: send the same payment again. For servers of x402 the same is settlement_pending (version 2) or unexpected_settle_error (version 1)."
      )
    ),
    HttpApiEndpoint.post("claim", "/claims", {
      ...claiming,
      error: [Forbidden, TooManyRequestsResponse, TemporarilyUnavailableResponse]
    }).annotateMerge(described("Verifies and claims, without a transfer; POST /settle follows.")),
    HttpApiEndpoint.post("finish", "/payments/:id/finish", {
      params: paymentId,
      ...finishing,
      error: [UnknownPayment, FinishRefused, TemporarilyUnavailableResponse]
    }).annotateMerge(described("Reports the end of a granted execution. Idempotent, fenced by the claim's id.")),
    HttpApiEndpoint.post("finishSeveral", "/payments/finish", {
      ...finishingSeveral,
      error: TooManyRequestsResponse
    }).annotateMerge(
      described(
        `Reports the ends of up to ${FacilitatorApi.maximumFinishes} granted executions. Each has its own response, in their order, with the status and the body of POST /payments/{id}/finish.`
      )
    )
  )
  .middleware(RequestFaults)
  .middleware(CallerAuthentication) {}

const drawId = { id: Schema.String.annotate({ description: "draw-, the channel, - and the maximum of the voucher" }) }

/** Draws on payment channels, for servers whose ledger is kept here. */
class DrawsGroup extends HttpApiGroup.make("draws")
  .add(
    HttpApiEndpoint.post("draw", "/draws", {
      ...drawing,
      error: [TooManyRequestsResponse, TemporarilyUnavailableResponse]
    }).annotateMerge(
      described(
        `Asks for up to ${DrawsApi.maximumDraws} draws. Each has its own response, in their order, with the status and the body that POST /claims would have; 202 for one that takes longer, which the server sends there by itself. A draw is durable before its response, and idempotent by the id of its claim. It ends by POST /payments/{id}/finish, which charges it.`
      )
    ),
    HttpApiEndpoint.post("window", "/draws/:id/windows", {
      params: drawId,
      ...reserving,
      error: [UnknownPayment, FinishRefused, TemporarilyUnavailableResponse]
    }).annotateMerge(
      described(
        "Reserves a further part of a channel's credit for a stream that a draw has begun, under a claim of its own; waits up to waitMillis for the voucher that it needs."
      )
    ),
    HttpApiEndpoint.post("renew", "/draws/:id/renew", {
      params: drawId,
      ...renewing,
      error: TemporarilyUnavailableResponse
    }).annotateMerge(described("Extends the lease of an open draw by 60 seconds.")),
    HttpApiEndpoint.get("standing", "/draws/:id", {
      params: drawId,
      success: DrawsApi.Standing,
      error: [UnknownPayment, TemporarilyUnavailableResponse]
    }).annotateMerge(described("The standing of a draw's channel.")),
    HttpApiEndpoint.get("closed", "/draws/:id/closed", {
      params: drawId,
      success: DrawsApi.ClosedResponse,
      error: TemporarilyUnavailableResponse
    }).annotateMerge(described("Whether a draw's channel is drawn on no more, by the chain as of a moment ago.")),
    HttpApiEndpoint.post("voucher", "/vouchers", {
      ...keeping,
      error: [Forbidden, TooManyRequestsResponse, TemporarilyUnavailableResponse]
    }).annotateMerge(
      described(
        "Keeps a higher voucher without a draw, and makes the deposit beside it. Idempotent; it charges nothing."
      )
    )
  )
  .middleware(RequestFaults)
  .middleware(CallerAuthentication) {}

/** Endpoints of the records: a caller reads its own payments, an operator all. A caller without a key reads payments without a caller's name. */
class RecordsGroup extends HttpApiGroup.make("records")
  .add(
    HttpApiEndpoint.get("payment", "/payments/:id", {
      params: paymentId,
      success: Settlement.PaymentRecord,
      error: [UnknownPayment, TemporarilyUnavailableResponse]
    }).annotateMerge(described("The recorded state and history of one payment.")),
    HttpApiEndpoint.get("payments", "/payments", {
      query: PaymentExport.PageQuery,
      success: PaymentExport.PaymentPage,
      error: TemporarilyUnavailableResponse
    }).annotateMerge(
      described(
        "All payments in the order of their records, page by page: enough to recompute the books from the chain."
      )
    )
  )
  .middleware(RequestFaults)
  .middleware(CallerAuthentication) {}

/** Endpoints for everybody. */
class OffersGroup extends HttpApiGroup.make("offers")
  .add(
    HttpApiEndpoint.get("supported", "/supported", {
      success: X402ServerApiKinds.X402SupportedResponse,
      error: TemporarilyUnavailableResponse
    }).annotateMerge(described("The schemes and networks that this facilitator settles, and its signers."))
  )
  .middleware(RequestFaults) {}

/** The list of resources, for everybody. */
class DiscoveryGroup extends HttpApiGroup.make("discovery")
  .add(
    HttpApiEndpoint.get("resources", "/discovery/resources", {
      query: ResourceList.Query,
      success: ResourceList.Page,
      error: NoDiscovery
    }).annotateMerge(
      described(
        "The resources that were sold here and want to be found, as their own offers describe them (x402's bazaar). Filters about an offer hold for one and the same offer. limit is 1 to 100, default 20; offset is the number of resources to skip. 404 where the facilitator lists none."
      )
    )
  )
  .middleware(RequestFaults) {}

/** Endpoints for the operator. */
class OperationGroup extends HttpApiGroup.make("operation").add(
  HttpApiEndpoint.get("live", "/live", { success: Schema.Struct({ live: Schema.Literal(true) }) }).annotateMerge(
    described("Liveness of the process.")
  ),
  HttpApiEndpoint.get("ready", "/ready", { success: ReadinessReport, error: NotReady }).annotateMerge(
    described(
      "Readiness of the service: every check with its troubles, each with a kind for programs, a problem and its remedy (mend). A report is at most 2 seconds old."
    )
  )
) {}

/** The API. */
export class FacilitatorHttpApi extends HttpApi.make("facilitator")
  .add(PaymentsGroup)
  .add(DrawsGroup)
  .add(RecordsGroup)
  .add(OffersGroup)
  .add(DiscoveryGroup)
  .add(OperationGroup)
  .annotateMerge(
    OpenApi.annotations({
      title: "Pontage facilitator",
      version: "2",
      description: "Verifies payments for HTTP resources, settles them on their chain, and records them."
    })
  ) {}
