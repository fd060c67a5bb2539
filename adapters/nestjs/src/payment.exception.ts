/** The gate's refusal as an exception: a guard cannot respond by itself, it throws. */
import { HttpException } from "@nestjs/common"
import type { GateResponse } from "@pontage/core"

/**
 * The gate's response, 402 or another. Its headers are already on the response. An exception filter of the application
 * that catches everything should send `getResponse()` unchanged: clients pay by it.
 */
export class PaymentRefusedException extends HttpException {
  readonly gateResponse: GateResponse

  constructor(gateResponse: GateResponse) {
    super("Payment refused", gateResponse.status)
    this.gateResponse = gateResponse
  }

  /** Without a stack, which costs more than the decision: every unpaid request has one, and it is no fault of the code. */
  static of(gateResponse: GateResponse): PaymentRefusedException {
    const { stackTraceLimit } = Error
    // Fails without an error where the limit is frozen.
    Reflect.set(Error, "stackTraceLimit", 0)
    try {
      return new PaymentRefusedException(gateResponse)
    } finally {
      Reflect.set(Error, "stackTraceLimit", stackTraceLimit)
    }
  }

  /** The JSON body for the client. */
  override getResponse(): object | string {
    const body: unknown = this.gateResponse.body === "" ? "" : JSON.parse(this.gateResponse.body)
    return typeof body === "object" && body !== null ? body : ""
  }
}
