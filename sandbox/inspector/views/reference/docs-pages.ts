/** The pages of the documentation, as the site lists them. */
import { useEffect, useState } from 'react'
import { isObject } from '../../../../src/foundation/json.ts'
import { request } from '../../data/api.ts'

export interface DocsPage {
  topic: string
  title: string
  summary: string
  section: string
  headings: readonly string[]
}

/** Returns the pages once they are read. */
export function useDocsPages(): { pages: readonly DocsPage[]; isFailed: boolean } {
  const [state, setState] = useState<{ pages: readonly DocsPage[]; isFailed: boolean }>({ pages: [], isFailed: false })
  useEffect(() => {
    let isShown = true
    readPages().then(
      (pages) => {
        if (isShown) setState({ pages, isFailed: false })
      },
      () => {
        if (isShown) setState({ pages: [], isFailed: true })
      },
    )
    return () => {
      isShown = false
    }
  }, [])
  return state
}

async function readPages(): Promise<DocsPage[]> {
  const response = await request('GET', '/_sandbox/docs/index.json')
  if (!response.ok) throw new Error(`The list of pages responded ${response.status}.`)
  const pages: unknown = await response.json()
  if (!Array.isArray(pages)) throw new Error('The list of pages is no list.')
  const listed = pages.filter((page) => isObject(page) && typeof page.topic === 'string') as unknown as DocsPage[]
  // Summaries are Markdown.
  return listed.map((page) => ({ ...page, summary: page.summary.replace(/[`*]/g, '') }))
}
