/** `/demand`: files of your own campaigns, dropped here, checked as `svc demand check` does, and put in force. */
import { useState } from 'react'
import { Link } from 'wouter'
import { call, type EndpointOutput } from '../../data/api.ts'
import { useCampaignList } from '../../data/campaigns.ts'
import { ConfirmButton } from '../../parts/ConfirmButton.tsx'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { FilesDrop, type NamedFile } from '../../parts/FilesDrop.tsx'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'

type Checked = EndpointOutput<'demand.replace'>
type SentFile = { name: string; base64: string }

const types = ['.yaml', '.yml', '.png', '.jpg', '.jpeg', '.webp', '.gif', '.svg', '.mp4', '.m4v', '.webm']

/** Names that are listed; there may be thousands. */
const maxListed = 100

export function DemandPage() {
  const [sent, setSent] = useState<{ files: SentFile[]; checked: Checked } | null>(null)
  const inForce = useCampaignList()
  const action = useAction(inForce.reload)
  const check = (load: () => Promise<NamedFile[]>) =>
    action.run(async () => {
      setSent(null)
      const files = await Promise.all((await load()).map(readFile))
      const checked = await call('demand.replace', { body: { files, dry_run: true } })
      setSent({ files, checked })
      return describeCheck(checked)
    })
  const replace = (files: SentFile[]) =>
    action.run(async () => {
      const checked = await call('demand.replace', { body: { files } })
      setSent(checked.is_in_force ? null : { files, checked })
      return checked.is_in_force ? `${count(checked.campaigns.length)} in force.` : describeCheck(checked)
    })
  return (
    <Page title="Your own ads" lead="Campaigns from files of yours, with their pictures and clips, in this sandbox.">
      <FilesDrop
        label="Drop a file of campaigns here, with its pictures and clips, or their folder"
        remark="YAML, PNG, JPEG, WebP, GIF, SVG, MP4, WebM, together at most 32 MB. Nothing changes before you confirm."
        types={types}
        onChoose={(load) => void check(load)}
      />
      <Outcome action={action} />
      {sent !== null && (
        <CheckedPanel {...sent} isDisabled={action.isRunning} onReplace={() => void replace(sent.files)} />
      )}
      <Panel
        title="In force"
        lead="Your own first. The page of a campaign shows its placements, and its creatives in every look."
      >
        <Shown resource={inForce}>
          {(campaigns) => (
            <ul className="bar wrapping">
              {campaigns.slice(0, maxListed).map(({ campaign_id, sponsor_name }) => (
                <li key={campaign_id}>
                  <Link className="small" href={routeTo('campaign', campaign_id)}>
                    {sponsor_name}
                  </Link>
                </li>
              ))}
              {campaigns.length > maxListed && <li className="soft">and {campaigns.length - maxListed} more</li>}
            </ul>
          )}
        </Shown>
      </Panel>
    </Page>
  )
}

interface CheckedPanelProps {
  checked: Checked
  isDisabled: boolean
  onReplace(): void
}

function CheckedPanel({ checked: { campaigns, problems }, isDisabled, onReplace }: CheckedPanelProps) {
  if (problems.length > 0) {
    return (
      <Panel title={problems.length === 1 ? '1 problem' : `${problems.length} problems`} lead="Nothing was changed.">
        <ul className="cards">
          {problems.map(({ file, line, column, message, hint }) => (
            <li key={`${file} ${line} ${column} ${message}`} className="box">
              <code>{line === 0 ? file : `${file}:${line}:${column}`}</code>
              <p>{message}</p>
              <p className="soft">{hint}</p>
            </li>
          ))}
        </ul>
      </Panel>
    )
  }
  return (
    <Panel
      title={count(campaigns.length)}
      lead="Nothing is wrong."
      actions={
        campaigns.length > 0 && (
          <ConfirmButton
            title="Put these campaigns in force?"
            text="They replace your own campaigns that are in force, for every client, until this sandbox stops: its next start reads --demand again. What was filled keeps its pictures. To keep them: svc start --demand FILE."
            confirm="Put in force"
            isDisabled={isDisabled}
            onConfirm={onReplace}
          />
        )
      }
    >
      <ul className="cards">
        {campaigns.map((campaign) => (
          <li key={campaign.campaign_id} className="box">
            <div className="bar spread">
              <strong>{campaign.sponsor_name}</strong>
              <code>
                {campaign.file}:{campaign.line}
              </code>
            </div>
            <p className="bar wrapping">
              <code>{campaign.campaign_id}</code>
              <span>
                {campaign.price_cpm} {campaign.currency} CPM
              </span>
              <span className="soft">{campaign.topics.length === 0 ? 'any topic' : campaign.topics.join(', ')}</span>
            </p>
            <p className="bar wrapping">
              {campaign.creatives.map((creative, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two creatives may be alike.
                <Chip key={index} tone="plain">
                  {creative}
                </Chip>
              ))}
            </p>
            {campaign.notes.map((note) => (
              <p key={note} className="soft">
                {note}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function describeCheck({ campaigns, problems }: Checked): string {
  if (problems.length > 0)
    return problems.length === 1 ? '1 problem was found.' : `${problems.length} problems were found.`
  return campaigns.length === 0 ? 'The files have no campaign.' : `${count(campaigns.length)} checked.`
}

function count(campaigns: number): string {
  return campaigns === 1 ? '1 campaign' : `${campaigns} campaigns`
}

function readFile({ name, file }: NamedFile): Promise<SentFile> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve({ name, base64: String(reader.result).split(',')[1] ?? '' })
    reader.onerror = () => reject(new Error(`${name} cannot be read.`))
    reader.readAsDataURL(file)
  })
}
