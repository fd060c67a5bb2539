/**
 * The gate's refusal on its way through Nest: a guard cannot answer by itself, it throws.
 */
import { HttpException } from "@nestjs/common"
import type { Answer } from "@pontage/core"

/**
 * The answer of the gate, 402 or another. Its headers are on the response already. An exception filter of the
 * application that catches everything should send `getResponse()` as it is: clients pay by what it says.
 */
export class PaymentRefusedException extends HttpException {
  readonly answer: Answer

  constructor(answer: Answer) {
    super("Payment refused", answer.status)
    this.answer = answer
  }

  /** The JSON the client has to get. */
  override getResponse(): object | string {
    const body: unknown = this.answer.body === "" ? "" : JSON.parse(this.answer.body)
    return typeof body === "object" && body !== null ? body : ""
  }
}
