/** The metrics of a sandbox, for monitoring systems. */
import { declareEndpoints, reading } from '../../endpoint.ts'

export const control = declareEndpoints({
  'sandbox.metrics': {
    ...reading,
    path: '/_sandbox/metrics',
    summary: 'Show what this sandbox counts, for Prometheus',
    description:
      'Requests, decisions, beacon verdicts, callbacks, open streams, store, journal and process of the node that responds, in the text format of Prometheus; with Accept: application/openmetrics-text, as OpenMetrics 1.0. Labels have endpoints, formats, events and codes, never a project, session or slot. A scraper may also send its token as Authorization: Bearer.',
    provenance: 'assumed',
    response: { media_type: 'text/plain; version=0.0.4; charset=utf-8' },
  },
})
