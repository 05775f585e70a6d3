/** Every creative of a campaign as everyone may see it, each from its real frame, with what was measured in it. */
import { useEffect, useRef, useState } from 'react'
import { labelSchemeStyle, labelStyle } from '#contract/facts/label-style.ts'
import type { CreativeSheet, SheetVariant } from '#contract/resources/sandbox/creative-sheet.ts'
import { describeFailure, type Judged, judgeVariant } from '#qa/sheet/checks.ts'
import { measureTexts } from '#qa/sheet/measure.ts'
import { measureFrame, stageVariant, startFrame } from '#qa/sheet/stage.ts'
import { readJson } from '../../data/api.ts'
import { useLoaded } from '../../data/resource.ts'
import { linkTo } from '../../data/session.ts'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'

export function CampaignSheet({ campaign_id }: { campaign_id: string }) {
  const path = `/_sandbox/creatives/${encodeURIComponent(campaign_id)}`
  const sheet = useLoaded(path, () => readJson<CreativeSheet>(path))
  return (
    <Shown resource={sheet} missing={<Empty icon="placements" title="The market in force has no such campaign" />}>
      {({ sponsor_name, variants }) =>
        [...Map.groupBy(variants.filter(isShownHere), nameLook)].map(([name, looks]) => (
          <Panel key={name} title={name} lead={<Remark campaign_id={campaign_id} isFirst={looks[0] === variants[0]} />}>
            <ul className="looks">
              {looks.map((variant) => (
                <Look key={variant.variant_id} variant={variant} sponsor_name={sponsor_name} />
              ))}
            </ul>
          </Panel>
        ))
      }
    </Shown>
  )
}

/** What a browser imitates for a whole tab alone is in the sheet of the command. */
function isShownHere({ theme, is_motion_reduced }: SheetVariant): boolean {
  return theme !== 'high_contrast' && !is_motion_reduced
}

function Remark({ campaign_id, isFirst }: { campaign_id: string; isFirst: boolean }) {
  if (!isFirst) return null
  return (
    <>
      High contrast and reduced motion are settings of a whole browser: <code>svc creatives sheet {campaign_id}</code>{' '}
      has them too, compares with an earlier sheet, and writes a file.
    </>
  )
}

function nameLook({ creative_id, format, template_id }: SheetVariant): string {
  return template_id === null ? `${format}, ${creative_id}` : `${format}, ${template_id}, ${creative_id}`
}

function nameVariant({ page_widths, width, theme, about }: SheetVariant): string {
  const pages = page_widths.every((page) => page === width) ? '' : `, pages of ${page_widths.join(', ')} px`
  return [`${width} px${pages}`, theme, about].filter((part) => part !== '').join(', ')
}

function Look({ variant, sponsor_name }: { variant: SheetVariant; sponsor_name: string }) {
  const place = useRef<HTMLDivElement>(null)
  const [judged, setJudged] = useState<Judged | null>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let isOpen = true
    // Only what comes into view is loaded: a native creative has fifty looks.
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting !== true) return
        observer.disconnect()
        void judge(element, variant, sponsor_name).then((found) => isOpen && setJudged(found))
      },
      { rootMargin: '300px' },
    )
    observer.observe(element)
    return () => {
      isOpen = false
      observer.disconnect()
    }
  }, [variant, sponsor_name])
  return (
    <li className="look" data-wrong={(judged?.findings.length ?? 0) > 0 || undefined}>
      <div className="look-place scroller">
        <div ref={place} style={{ colorScheme: variant.theme, minHeight: variant.height + 32 }} />
      </div>
      <p className="label">{nameVariant(variant)}</p>
      <Findings judged={judged} />
    </li>
  )
}

function Findings({ judged }: { judged: Judged | null }) {
  if (judged === null) return <p className="faint tiny">Not measured yet</p>
  const reasons = [...new Set(judged.unmeasured.map(({ rule, part, why }) => `${part}, ${rule}: ${why}`))]
  return (
    <>
      {judged.findings.length === 0 && <p className="faint tiny">Nothing found</p>}
      {judged.findings.map(({ rule, part, message, fix }) => (
        <p key={`${rule} ${part}`} className="finding">
          <Chip tone="bad">{rule}</Chip> <bdi>{message}</bdi> <span className="soft">{fix}</span>
        </p>
      ))}
      {reasons.map((reason) => (
        <p key={reason} className="faint tiny">
          Not measured: {reason}
        </p>
      ))}
    </>
  )
}

/** Shows a variant in its place, and judges it by the rules of `svc creatives sheet`. */
async function judge(place: HTMLElement, variant: SheetVariant, sponsor_name: string): Promise<Judged> {
  const styles = [labelStyle, labelSchemeStyle]
  await stageVariant({ ...variant, frame_path: linkTo(variant.frame_path), sponsor_name, styles }, place)
  const frame = place.querySelector('iframe')!
  frame.title = nameVariant(variant)
  const problem = await startFrame({ is_in_view: false }, frame)
  if (problem !== null) return { findings: [describeFailure(variant, `Its frame reports ${problem}.`)], unmeasured: [] }
  const label = measureTexts('[data-sp-label]', place)
  const own = await measureFrame(frame)
  return judgeVariant(variant, { ...own, texts: [...label, ...own.texts] })
}
