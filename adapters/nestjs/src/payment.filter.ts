/** Sends a refusal unchanged, before a filter of the application can reshape it. */
import type { ServerResponse } from "node:http"

import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"
import type { GateResponse } from "@pontage/core"

import { PaymentRefusedException } from "./payment.exception.ts"
import type { HostResponse } from "./payment.http.ts"

/** The filter; the module and `@Paid` put it in place. */
@Catch(PaymentRefusedException)
export class PaymentRefusedFilter implements ExceptionFilter<PaymentRefusedException> {
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  catch(exception: PaymentRefusedException, host: ArgumentsHost): void {
    const { httpAdapter } = this.#host
    const response = host.switchToHttp().getResponse<HostResponse>()
    const { body, status } = exception.gateResponse
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response)
    else if ("raw" in response) httpAdapter.reply(response, body === "" ? undefined : body, status)
    else end(response, exception.gateResponse)
  }
}

/** Express would hash the body for an `ETag`, which no refusal needs. */
const end = (response: ServerResponse, { body, status }: GateResponse): void => {
  response.statusCode = status
  response.end(body)
}
